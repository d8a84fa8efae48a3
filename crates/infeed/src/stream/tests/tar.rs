use super::*;
use crate::{
    format::{IndexCache, TarFormat},
    store::MemoryStore,
};
use infeed_core::{Bytes, Index, Store, StoreExt};
use proptest::prelude::*;

/// What the indexed format returns for the same bytes.
fn indexed(bytes: &[u8]) -> Result<Vec<Plain>> {
    let store: MemoryStore = [("x.tar", Bytes::copy_from_slice(bytes))].into_iter().collect();
    let shard = store.stat_one("x.tar")?;
    let index = TarFormat { lenient: false, cache: IndexCache::Off }.read_index(&store, &shard)?;
    let fields: Vec<Arc<str>> = index.fields().into_iter().map(|(name, _)| name).collect();
    let rows: Vec<u64> = (0..index.rows()).collect();
    let records = index.cut(&rows, &fields, store.read(&shard, &index.ranges(&rows, &fields)?)?)?;
    let full = |record: infeed_core::Record| {
        let values = fields.iter().zip(record.fields).filter_map(|(name, value)| match value {
            Value::Bytes(bytes) => Some((name.to_string(), bytes.to_vec())),
            _ => None,
        });
        values.collect()
    };
    Ok(rows.iter().zip(records).map(|(row, record)| (index.key(*row), full(record))).collect())
}

/// Asserts that both agree: on the rows, or on the fault and its offset.
fn agree(bytes: &[u8]) -> Result<(), TestCaseError> {
    let (rows, end) = rows_of("x.tar", bytes);
    match (indexed(bytes), end) {
        (Ok(wanted), Ok(())) => prop_assert_eq!(rows, wanted),
        (Err(wanted), Err(error)) => {
            let place = |e: &infeed_core::Error| match e {
                infeed_core::Error::Format { shard, offset, .. } => Some((shard.clone(), *offset)),
                _ => None,
            };
            prop_assert!(place(&error).is_some(), "{}", error);
            prop_assert_eq!(place(&wanted), place(&error), "{} {}", wanted, error);
        }
        (wanted, end) => prop_assert!(false, "indexed: {:?}, streamed: {:?}", wanted, end),
    }
    Ok(())
}

#[derive(Debug, Clone)]
enum Piece {
    File { folder: usize, base: usize, extension: usize, size: usize },
    Pax { path: Option<usize>, fraction: bool },
    Kind(u8),
    Zeros(usize),
}

const FOLDERS: [&str; 5] = ["", "a/", "d.ot/", "__notes__/", "deep/er/"];
const BASES: [&str; 5] = ["000001", "000002", "x", "__meta__", ""];
const EXTENSIONS: [&str; 7] = [".jpg", ".JPG", ".seg.png", ".", "", ".json", ".cls"];

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        8 => (0..FOLDERS.len(), 0..BASES.len(), 0..EXTENSIONS.len(), prop_oneof![0usize..20, 500usize..520, 0usize..6000])
            .prop_map(|(folder, base, extension, size)| Piece::File { folder, base, extension, size }),
        2 => (prop::option::of(90usize..400), any::<bool>()).prop_map(|(path, fraction)| Piece::Pax { path, fraction }),
        1 => prop::sample::select(vec![b'1', b'2', b'5', b'Z', b'7']).prop_map(Piece::Kind),
        1 => (1usize..5).prop_map(Piece::Zeros),
    ]
}

fn build(pieces: &[Piece]) -> Vec<u8> {
    let mut out = ::tar::Builder::new(Vec::new());
    for piece in pieces {
        match piece {
            Piece::File { folder, base, extension, size } => {
                let name = format!("{}{}{}", FOLDERS[*folder], BASES[*base], EXTENSIONS[*extension]);
                let name = if name.is_empty() || name.ends_with('/') { "plain".to_owned() } else { name };
                let mut head = ::tar::Header::new_gnu();
                head.set_size(*size as u64);
                let data: Vec<u8> = (0..*size).map(|i| (i * 31 + size) as u8).collect();
                out.append_data(&mut head, name, data.as_slice()).unwrap();
            }
            Piece::Pax { path, fraction } => {
                let long = path.map(|n| format!("{}.jpg", "p".repeat(n)));
                let mut records: Vec<(&str, &[u8])> = Vec::new();
                if *fraction {
                    records.push(("mtime", b"1.25"));
                }
                if let Some(long) = &long {
                    records.push(("path", long.as_bytes()));
                }
                out.append_pax_extensions(records).unwrap();
            }
            Piece::Kind(kind) => {
                let mut head = ::tar::Header::new_ustar();
                head.set_entry_type(::tar::EntryType::new(*kind));
                head.set_path("a/x.odd").unwrap();
                head.set_size(0);
                head.set_cksum();
                out.append(&head, std::io::empty()).unwrap();
            }
            Piece::Zeros(blocks) => out.get_mut().extend(std::iter::repeat_n(0, blocks * 512)),
        }
    }
    out.into_inner().unwrap()
}

proptest! {
    #[test]
    fn streamed_rows_are_the_indexed_rows(pieces in prop::collection::vec(piece(), 0..25)) {
        agree(&build(&pieces))?;
    }

    #[test]
    fn faults_are_found_by_both(
        pieces in prop::collection::vec(piece(), 1..8),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = build(&pieces);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        agree(&bytes)?;
    }
}

/// Recomputes the checksum of a header.
fn sign(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block[..512].iter().map(|b| u32::from(*b)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

#[test]
fn faults_have_a_place_and_the_rows_before_them_are_given() {
    let whole = tar_of([("a.x", &[1; 600][..]), ("b.x", &[2; 600]), ("c.x", &[3; 600])]);
    // Each member takes 1,536 bytes. Inside the header of c it is unknown whether row b is complete.
    let (rows, end) = rows_of("x.tar", &whole[..3072 + 100]);
    assert_eq!(rows.len(), 1);
    let error = end.unwrap_err().to_string();
    assert!(error.starts_with("shard `x.tar` is damaged at byte 3072: the archive is cut off"), "{error}");
    let (rows, end) = rows_of("x.tar", &whole[..3072 + 600]);
    assert_eq!(rows.len(), 2);
    let error = end.unwrap_err().to_string();
    assert!(error.contains("at byte 3072") && error.contains("inside member `c.x`"), "{error}");
    let mut garbage = whole.clone();
    garbage[1536] ^= 1;
    let (rows, end) = rows_of("x.tar", &garbage);
    assert_eq!(rows.len(), 0);
    assert!(end.unwrap_err().to_string().contains("at byte 1536: the checksum of a tar header is wrong"));
}

#[test]
fn what_is_no_tar_is_named() {
    for padding in [0, 2048] {
        for (start, what) in [
            (&b"<html>404"[..], "this is an HTML page, not the data"),
            (b"version https://git-lfs.github.com/spec/v1\n", "this is a Git LFS pointer, not the data"),
            (b"{\"error\": 404}", "this is JSON, not a tar"),
        ] {
            let (rows, end) = rows_of("pipe:x", &[start, &vec![b' '; padding]].concat());
            let error = end.unwrap_err().to_string();
            assert!(rows.is_empty() && error.contains(&format!("at byte 0: {what}")), "{error}");
        }
    }
}

#[test]
fn sparse_and_huge_members_are_refused() {
    let mut sparse = tar_of([("a.x", &b"1"[..])]);
    sparse[156] = b'S';
    sign(&mut sparse[..512]);
    assert!(rows_of("x.tar", &sparse).1.unwrap_err().to_string().contains("sparse file"));
    // The header claims more than there is: that much is not allocated.
    for (size, what) in [
        ("25000000000", "a field of a stream may have 2.0 GiB"),
        ("10000000000", "cut off inside member `a.x`"),
    ] {
        let mut huge = tar_of([("a.x", &b"1"[..])]);
        huge[124..135].copy_from_slice(size.as_bytes());
        sign(&mut huge[..512]);
        let error = rows_of("x.tar", &huge).1.unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        let error = rows_of("x.tar.gz", &pack(Packing::Gzip, &huge)).1.unwrap_err().to_string();
        assert!(error.contains("counted in the tar inside the gzip data"), "{error}");
    }
}

#[test]
fn large_members_arrive_whole() {
    let data: Vec<u8> = (0..(70u32 << 20)).map(|i| (i >> 7) as u8).collect();
    let tar = tar_of([("a.x", data.as_slice()), ("b.x", &data[..5 << 20])]);
    let (rows, end) = rows_of("x.tar", &tar);
    end.unwrap();
    assert!(rows[0].1[0].1 == data && rows[1].1[0].1 == data[..5 << 20]);
}
