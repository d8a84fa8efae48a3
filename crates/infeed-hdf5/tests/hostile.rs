//! Files that are cut, changed, or lie. Nothing may panic, run for ever or use more memory than the limits allow.
#![allow(clippy::unwrap_used)]

mod common;

use bytes::Bytes;
use common::{FILES, all, golden, open};
use infeed_hdf5::{Error, File, Limits, Result, Slab, fuzz_hdf5, is_hdf5};
use std::sync::Arc;

/// A file of the first version that is cut but says that it is not, so that readers find out later.
fn cut(data: &[u8], len: usize) -> Vec<u8> {
    let mut data = data[..len].to_vec();
    if len >= 48 {
        // The end of the file stands behind the base address and the free space.
        data[40..48].copy_from_slice(&(len as u64).to_le_bytes());
    }
    data
}

#[test]
fn every_cut_is_noticed_when_the_file_is_opened() {
    for name in FILES {
        let data = golden(name);
        for len in 0..data.len() {
            match open(data[..len].to_vec()) {
                Err(Error::Truncated { .. } | Error::NotHdf5 | Error::Damaged { .. }) => {}
                other => panic!("{name} cut to {len}: {other:?}"),
            }
        }
    }
}

#[test]
fn cuts_that_are_hidden_are_noticed_when_they_are_met() {
    let data = golden("earliest.h5");
    let wanted = {
        let file = open(data.clone()).unwrap();
        all(&file, &file.reader(file.dataset("tree").unwrap(), "").unwrap()).unwrap()
    };
    for len in (0..data.len()).step_by(13) {
        let read = || -> Result<Vec<u8>> {
            let file = open(cut(&data, len))?;
            all(&file, &file.reader(file.dataset("tree")?, "")?)
        };
        if let Ok(found) = read() {
            assert!(found == wanted, "cut to {len}");
        }
        fuzz_hdf5(&cut(&data, len));
    }
}

/// The environment variable `INFEED_MUTATIONS` asks for more; with `RUSTFLAGS="--cfg fuzzing"` checksums do not count.
#[test]
fn ten_thousand_changed_files() {
    let rounds = std::env::var("INFEED_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % limit
    };
    let originals = FILES.map(golden);
    let numbers =
        [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX >> 1, u64::MAX];
    for round in 0..rounds {
        let mut data = originals[round % 3].clone();
        for _ in 0..1 + below(3) {
            let at = below(data.len());
            if below(2) == 0 {
                data[at] = below(256) as u8;
            } else {
                let width = [1, 2, 4, 8][below(4)].min(data.len() - at);
                data[at..at + width].copy_from_slice(&numbers[below(numbers.len())].to_le_bytes()[..width]);
            }
        }
        if std::panic::catch_unwind(|| fuzz_hdf5(&data)).is_err() {
            panic!("round {round} breaks");
        }
    }
}

#[test]
fn a_chunk_larger_than_the_file() {
    let mut data = golden("earliest.h5");
    let file = open(data.clone()).unwrap();
    let map = file.chunks(&file.dataset("tree").unwrap()).unwrap();
    let place = map.get(&[0, 0]).unwrap().range;
    // A key is length, mask, offsets; the address of the chunk follows it.
    let address = place.start.to_le_bytes();
    let at = data.windows(8).position(|part| part == address).unwrap() - 8 - 24;
    data[at..at + 4].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
    let file = open(data).unwrap();
    let error = file.chunks(&file.dataset("tree").unwrap()).unwrap_err();
    assert!(matches!(error.cause(), Error::Truncated { .. }), "{error}");
}

#[test]
fn a_filter_that_nobody_knows_is_named() {
    let mut data = golden("earliest.h5");
    let zstd = 32015u16.to_le_bytes();
    for at in 0..data.len() - 2 {
        if data[at..at + 2] == zstd {
            data[at..at + 2].copy_from_slice(&32013u16.to_le_bytes());
        }
    }
    let file = open(data).unwrap();
    let error = file.reader(file.dataset("one").unwrap(), "").unwrap_err();
    assert!(matches!(error.cause(), Error::Filter { id: 32013, .. }));
    assert!(error.to_string().contains("filter 32013"), "{error}");
}

#[test]
fn damaged_chunks_are_errors_of_their_filter() {
    for (name, path) in
        FILES.into_iter().flat_map(|name| ["tree", "one", "blosc", "growing"].map(|path| (name, path)))
    {
        let mut data = golden(name);
        let file = open(data.clone()).unwrap();
        let reader = file.reader(file.dataset(path).unwrap(), "").unwrap();
        let place = reader.map().unwrap().get(&[0, 0]).unwrap().range;
        data[place.start as usize..place.end as usize].fill(0xee);
        let file = open(data).unwrap();
        let reader = file.reader(file.dataset(path).unwrap(), "").unwrap();
        let error = all(&file, &reader).unwrap_err();
        assert!(matches!(error.cause(), Error::Filter { .. }), "{name}: {error}");
        assert!(error.to_string().starts_with(&format!("{path}: filter ")), "{name}: {error}");
    }
}

#[test]
fn limits_are_kept() {
    let data = Bytes::from(golden("latest.h5"));
    let open = |limits| File::open(Arc::new(data.clone()), limits);
    let mut limits = Limits::small();
    limits.max_metadata = 1000;
    assert!(matches!(open(limits).unwrap_err(), Error::TooLarge { what: "metadata", .. }));
    let mut limits = Limits::small();
    limits.max_chunk = 50;
    let file = open(limits).unwrap();
    let error = file.reader(file.dataset("tree").unwrap(), "").unwrap_err();
    assert!(matches!(error.cause(), Error::TooLarge { what: "a chunk", size: 64, limit: 50 }));
    let mut limits = Limits::small();
    limits.max_links = 5;
    assert!(matches!(open(limits).unwrap().list().unwrap_err().cause(), Error::TooLarge { .. }));
    let mut limits = Limits::small();
    limits.max_depth = 0;
    assert!(open(limits).unwrap().list().is_err());
    let mut limits = Limits::small();
    limits.max_chunks = 3;
    let file = open(limits).unwrap();
    assert!(matches!(
        file.chunks(&file.dataset("tree").unwrap()).unwrap_err().cause(),
        Error::TooLarge { .. }
    ));
    // Longer runs are cut.
    let mut limits = Limits::small();
    limits.max_run = 24;
    let file = open(limits).unwrap();
    let plan = file.reader(file.dataset("plain").unwrap(), "").unwrap().plan(&Slab::all(&[10, 6])).unwrap();
    assert_eq!(plan.pieces().len(), 5);
}

#[test]
fn what_is_no_hdf5_is_told_at_once() {
    for data in [vec![], b"hello".to_vec(), vec![0; 100_000], b"\x89HDF\r\n\x1a\n".to_vec()] {
        assert!(open(data).is_err());
    }
    assert!(is_hdf5(&golden("latest.h5")) && !is_hdf5(b"\x89PNG"));
    // A user block moves everything.
    let moved = [vec![7; 512], golden("earliest.h5")].concat();
    assert!(is_hdf5(&moved));
    let file = open(moved).unwrap();
    let reader = file.reader(file.dataset("tree").unwrap(), "").unwrap();
    let home = open(golden("earliest.h5")).unwrap();
    let there = home.reader(home.dataset("tree").unwrap(), "").unwrap();
    assert_eq!(all(&file, &reader).unwrap(), all(&home, &there).unwrap());
}
