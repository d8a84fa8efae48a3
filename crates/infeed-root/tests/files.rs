//! Files that uproot wrote, and one that was put together by hand: as they are, cut, and changed. `golden/make.py` makes them.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use infeed_root::{Contents, Error, Result, Table, WholeColumn, fuzz_root, is_root};
use std::path::Path;

const FILES: [&str; 9] = [
    "handmade.root",
    "lz4.root",
    "lzma.root",
    "ntuple.root",
    "plain.root",
    "rntuple.root",
    "small.root",
    "zlib.root",
    "zstd.root",
];

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; golden/make.py makes it", path.display()))
}

fn open(file: &Bytes, tree: Option<&str>) -> Result<Table> {
    let contents = Contents::read(file)?;
    contents.tree(file, contents.choose(file, tree)?)
}

/// Every column of the only tree.
fn all(data: Vec<u8>) -> Result<Vec<(String, WholeColumn)>> {
    let file = Bytes::from(data);
    let tree = open(&file, None)?;
    tree.names().map(|name| Ok((name.to_owned(), tree.read_column(&file, name)?))).collect()
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn everything_is_what_uproot_reads() {
    let sums = String::from_utf8(golden("sums.txt")).unwrap();
    for name in FILES {
        let data = golden(name);
        assert!(is_root(&data));
        let columns = all(data).unwrap();
        let lines: Vec<_> = sums.lines().filter_map(|line| line.strip_prefix(&format!("{name} "))).collect();
        assert_eq!(lines.len(), columns.len());
        for (line, (column, found)) in lines.iter().zip(columns) {
            assert_eq!(*line, format!("{column} {:08x}", crc32(&found.data)), "{name}");
        }
    }
}

#[test]
fn fields_are_what_was_written() {
    let specs = |name: &str| -> Vec<(String, String)> {
        all(golden(name)).unwrap().into_iter().map(|(name, column)| (name, column.spec.to_string())).collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    };
    assert_eq!(
        specs("handmade.root"),
        pairs(&[
            ("hit.a", "f32"),
            ("hit.b", "i32[2]"),
            ("hit.c", "f64"),
            ("vec", "f32[?]"),
            ("late", "i32"),
            ("word", "text")
        ])
    );
    assert_eq!(
        specs("zstd.root"),
        pairs(&[
            ("number", "i64"),
            ("flag", "bool"),
            ("grid", "f32[2, 3]"),
            ("njets", "i32"),
            ("jets", "u16[?]"),
            ("word", "text")
        ])
    );
}

#[test]
fn trees_are_chosen_by_name_and_cycle() {
    let file = Bytes::from(golden("handmade.root"));
    assert_eq!(open(&file, Some("events;1")).unwrap().names().count(), 3);
    assert_eq!(open(&file, Some("/events")).unwrap().names().count(), 6);
    for wrong in ["event", "events;3", "events;x", ""] {
        let Err(Error::Request(text)) = open(&file, Some(wrong)) else { panic!("{wrong} was found") };
        assert!(wrong == "events;x" || text.contains("`events` with 5 entries"), "{text}");
    }
    let file = Bytes::from(golden("lz4.root"));
    assert_eq!(open(&file, Some("deep/events")).unwrap().entries, 40);
}

/// A cut file is refused: its head says how long it is.
#[test]
fn cuts_are_noticed() {
    for name in FILES {
        let data = golden(name);
        for len in (0..data.len()).step_by(7).chain(data.len() - 20..data.len()) {
            assert!(all(data[..len].to_vec()).is_err(), "{len} bytes of {name}");
        }
    }
}

/// The next number of a sequence that jumps about.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 20) as usize
}

/// Changed files give errors or columns, never a panic, an endless loop or the memory of the machine.
#[test]
fn changed_files_do_no_harm() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for name in FILES {
        let data = golden(name);
        for round in 0..700 {
            let mut changed = data.clone();
            for _ in 0..1 + next(&mut state) % 3 {
                let at = next(&mut state) % changed.len();
                changed[at] = match round % 4 {
                    0 => 0xff,
                    1 => changed[at].wrapping_add(1),
                    2 => changed[at] ^ 1 << (next(&mut state) % 8),
                    _ => next(&mut state) as u8,
                };
            }
            fuzz_root(&changed);
        }
    }
}

/// The places of numbers in the file that was put together by hand, and what must be told about others.
#[test]
fn wrong_numbers_are_named() {
    let data = golden("handmade.root");
    let told = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = data.clone();
        change(&mut data);
        all(data).map(drop).unwrap_err().to_string()
    };
    assert!(told(&|data| data[0] = b'R').contains("does not begin with `root`"));
    let places = |text: &[u8]| -> Vec<usize> {
        data.windows(text.len()).enumerate().filter(|(_, part)| *part == text).map(|(at, _)| at).collect()
    };
    // The names of a key, and behind them the length and the version of its object. The second cycle counts.
    let version = places(b"\x05TTree\x06events\0")[1] + 14 + 5;
    assert!(told(&|data| data[version] = 77).contains("TTree of version 77"));
    // More bytes than the object has.
    assert!(told(&|data| data[version - 3] = 0x7f).contains("does not fit"));
    let branch = places(b"TBranchElement\0")[0] + 15 + 5;
    assert!(told(&|data| data[branch] = 99).contains("TBranchElement of version 99"));
    // A vector that says that it has more elements than there are.
    let vector =
        data.windows(10).position(|part| part[..2] == [0x40, 0] && part[4..] == [0, 9, 0, 0, 0, 2]).unwrap();
    let text = told(&|data| data[vector + 9] = 3);
    assert!(text.contains("branch `vec`") && text.contains("entry 0"), "{text}");
}
