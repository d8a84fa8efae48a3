//! Files of many rows, opened as users open them.

use infeed::{format::entry, recipe::SourceRecipe, store::MemoryStore};
use infeed_core::{Opened, Source};
use std::{panic, sync::Once};

/// Rows that are fetched at most.
const MOST_ROWS: u64 = 40;

/// Opens bytes as a file of a format and passes what comes out to `look`.
fn open(format: &str, ending: &str, data: &[u8], look: impl FnOnce(Opened)) {
    // Each thread of a test has a file of its own.
    let name = format!("mem:fuzz-{:?}{ending}", std::thread::current().id());
    MemoryStore::shared().put(&name, data.to_vec());
    let mut source = SourceRecipe::files(vec![name.clone()], format);
    if entry(format).is_ok_and(|entry| entry.params.iter().any(|param| param.name == "index")) {
        source.args.insert("index".to_owned(), "off".into());
    }
    if let Ok(opened) = infeed::open_source(&source) {
        look(opened);
    }
    MemoryStore::shared().remove(&name);
}

/// Fetches rows together and one by one: whatever can be read must be the same both ways.
fn fetch(source: &dyn Source) {
    let fields: Vec<_> = source.spec().fields.iter().map(|(name, _)| name.clone()).collect();
    let rows: Vec<u64> = (0..source.rows().min(MOST_ROWS)).collect();
    let show = |record: &infeed_core::Record| format!("{:?}", record.fields);
    let together = source.fetch(&rows, &fields);
    for row in &rows {
        let alone = source.fetch(&[*row], &fields);
        if let (Ok(together), Ok(alone)) = (&together, &alone) {
            assert_eq!(show(&together[*row as usize]), show(&alone[0]), "row {row}");
        }
        assert!(together.is_err() || alone.is_ok(), "row {row} can only be read with others");
        source.key(*row);
        source.shard_of(*row);
        source.row_bytes(*row, &fields);
    }
    let filled = fields.iter().filter(|name| source.fills(name));
    for name in filled {
        let Some(at) = source.spec().position(name) else { continue };
        let Some(shape) = source.spec().fields[at].1.fixed_shape() else { continue };
        let width = shape.iter().product::<usize>() * source.spec().fields[at].1.dtype.size();
        let mut out = vec![0; width * rows.len()];
        let _ = source.fill(&rows, std::slice::from_ref(name), &mut [&mut out]);
    }
}

/// A table. The libraries below panic on some damaged files; what catches that belongs to what is tested, so such a panic
/// must not end the run.
pub(crate) fn table(format: &str, data: &[u8]) {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let inherited = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = info.location().is_some_and(|place| place.file().contains("infeed"));
            if ours {
                inherited(info);
            }
        }));
    });
    open(format, "", data, |opened| {
        if let Opened::Rows(source) = opened {
            fetch(&*source);
        }
    });
}

/// A tar, indexed and streamed: both find the same rows.
pub(crate) fn tar(data: &[u8]) {
    open("tar", ".tar", data, |opened| match opened {
        Opened::Rows(source) => fetch(&*source),
        Opened::Stream(stream) => {
            let fields: Vec<_> = stream.spec().fields.iter().map(|(name, _)| name.clone()).collect();
            let Ok(mut flow) = stream.start(&[0]) else { return };
            for _ in 0..MOST_ROWS {
                match flow.next(&fields) {
                    Ok(Some(_)) => {}
                    _ => break,
                }
            }
        }
    });
}
