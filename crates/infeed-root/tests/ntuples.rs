//! N-tuples: one that uproot wrote and one that was put together by hand. `files.rs` compares what they hold; here is what they are, and
//! what is told about damage.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use infeed_root::{Contents, Result, Table};
use std::path::Path;

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; golden/make.py makes it", path.display()))
}

fn open(file: &Bytes) -> Result<Table> {
    let contents = Contents::read(file)?;
    contents.tree(file, contents.choose(file, None)?)
}

fn specs(name: &str) -> Vec<String> {
    let file = Bytes::from(golden(name));
    let table = open(&file).unwrap();
    let spec = |name| format!("{name}: {}", table.read_column(&file, name).unwrap().spec);
    table.names().map(spec).collect()
}

#[test]
fn fields_are_what_was_written() {
    assert_eq!(
        specs("rntuple.root"),
        ["flag: bool", "grid: f32[2, 3]", "jets: u16[?]", "number: i64", "word: text"]
    );
    let found = specs("ntuple.root");
    for wanted in [
        "half: f32",
        "double32: f64",
        "truncated: f32",
        "byte: u8",
        "letter: i8",
        "hits.v: f32[?, 3]",
        "grid: i16[3, 2]",
        "bits: bool[5]",
        "colour: i32",
        "place.b: i8",
        "size: u32",
        "xs: i32[?]",
        "late: f64",
        "late_list: u8[?]",
    ] {
        assert!(found.iter().any(|one| one == wanted), "{wanted} is not in {found:?}");
    }
}

#[test]
fn lists_end_where_they_should() {
    let file = Bytes::from(golden("ntuple.root"));
    let table = open(&file).unwrap();
    let ends = |name: &str| -> Vec<u32> {
        let ends = table.read_column(&file, name).unwrap().ends();
        ends.as_chunks().0.iter().map(|end| u32::from_le_bytes(*end)).collect()
    };
    let counts = [0, 1, 3, 6, 6, 7, 9, 12, 12];
    assert_eq!(ends("list"), counts.map(|end| end * 4));
    assert_eq!(ends("word"), counts.map(|end| end * 3));
    assert_eq!(ends("hits.v"), counts.map(|end| end * 12));
    assert_eq!(ends("late_list"), [0, 0, 0, 0, 0, 0, 0, 2, 5], "those from before it was added are empty");
}

#[test]
fn what_cannot_be_read_is_told() {
    let file = Bytes::from(golden("ntuple.root"));
    let table = open(&file).unwrap();
    let refused: Vec<(&str, &str)> = table.refused().collect();
    let wanted = [
        ("nested", "lists of lists are not read"),
        ("object", "streamed objects of class TH1F are not read"),
    ];
    assert_eq!(refused, wanted);
}

/// Every byte of metadata and of pages with a checksum counts; what is told names the place.
#[test]
fn damage_is_noticed_and_named() {
    let data = golden("ntuple.root");
    let told = |at: usize| {
        let mut data = data.clone();
        data[at] ^= 0x10;
        let file = Bytes::from(data);
        let table = match open(&file) {
            Ok(table) => table,
            Err(error) => return error.to_string(),
        };
        let read = table.names().map(|name| table.read_column(&file, name));
        read.filter_map(Result::err).map(|error| error.to_string()).collect::<Vec<_>>().join("; ")
    };
    let name = b"ROOT::RNTuple\x02nt\0";
    let anchor = data.windows(name.len()).position(|part| part == name).unwrap() + name.len() + 6;
    for at in anchor..anchor + 72 {
        assert!(told(at).contains("RNTuple `nt`: the checksum of the anchor"), "{at}: {}", told(at));
    }
    let number = |at: usize| u64::from_be_bytes(data[at..at + 8].try_into().unwrap()) as usize;
    let (header, footer) = (number(anchor + 8), number(anchor + 32));
    for at in [header + 20, header + 200] {
        let text = told(at);
        assert!(text.contains("checksum is wrong") || text.contains("zlib"), "{text}");
    }
    for at in (footer..footer + number(anchor + 40)).step_by(5) {
        assert!(told(at).contains("the envelope Footer: its checksum is wrong"), "{at}");
    }
    // The first page, which has a checksum: that of `i16`.
    let page = header + number(anchor + 16) + 3;
    assert!(
        told(page).contains("field `i16`: entries from 0 on: the checksum of a page is wrong"),
        "{}",
        told(page)
    );
}
