use super::*;
use crate::{
    Guess,
    split::{Split, in_pieces},
};
use infeed_core::Dtype;
use proptest::prelude::*;

fn table(data: &[u8], delimiter: u8) -> infeed_core::Result<Vec<Vec<String>>> {
    let (mut out, mut found) = (vec![], vec![]);
    for row in in_pieces(Box::new(RowFinder::new(delimiter)), data, &[])? {
        let row = crate::text::line(&row);
        let row = row.trim_ascii_start();
        cells(row, delimiter, &mut found)?;
        out.push(found.iter().map(|cell| String::from_utf8(cell.bytes(row).into_owned()).unwrap()).collect());
    }
    Ok(out)
}

#[test]
fn the_width_is_what_most_rows_have() {
    let width = |rows: &[&str]| width(rows.iter().map(|row| row.as_bytes()), b',');
    assert_eq!(width(&["a", "a,b", "\"a", "c,d"]), Some(2));
    assert_eq!(width(&["a,b,c", "a,b"]), Some(3));
    assert_eq!(width(&["\"a"]), None);
}

#[test]
fn quotes_line_ends_and_blank_lines() {
    let data = b"a,b\r\n\"1\n2\",\"say \"\"x\"\"\"\n\n,\n5\" wide,y";
    let want = vec![vec!["a", "b"], vec!["1\n2", "say \"x\""], vec!["", ""], vec!["5\" wide", "y"]];
    assert_eq!(table(data, b',').unwrap(), want);
    assert_eq!(table(b"a\tb\n\t\n", b'\t').unwrap().len(), 2);
}

#[test]
fn open_quotes_are_named() {
    let error = table(b"a,b\n1,2\n\n3,\"x\ny\n", b',').unwrap_err().to_string();
    assert!(error.contains("opened in line 4 and never closed"), "{error}");
    let error = table(b"a,b\n\"1\"x,2\n", b',').unwrap_err().to_string();
    assert!(error.contains("`x` follows the closing quote"), "{error}");
}

#[test]
fn lines_of_rows_are_counted() {
    let mut ends = vec![];
    RowFinder::new(b',').split(b"a\n\"1\n2\"\n\nb\n", true, &mut ends).unwrap();
    assert_eq!(ends.iter().map(|end| end.lines).collect::<Vec<_>>(), [1, 2, 2]);
}

#[test]
fn delimiters_are_found() {
    assert_eq!(delimiter(b"a,b\n1,2\n"), b',');
    assert_eq!(delimiter(b"a\tb,c\n1\t2\n"), b'\t');
    assert_eq!(delimiter(b"a;b\n1,5;2,5\n"), b';');
    assert_eq!(delimiter(b"\"a,b\"|c\n\"d\"|e\n"), b'|');
    assert_eq!(delimiter(b"word\nword\n"), b',');
    assert_eq!(delimiter(b""), b',');
}

#[test]
fn kinds_of_columns() {
    for (cell, kind) in [
        ("", Guess::Unknown),
        ("1", Guess::Int),
        ("-7", Guess::Int),
        ("1.5e3", Guess::Float),
        ("nan", Guess::Float),
        ("True", Guess::Bool),
        ("007", Guess::Text),
        ("0.5", Guess::Float),
        ("infinity", Guess::Text),
        ("1 2", Guess::Text),
    ] {
        assert_eq!(guess(cell.as_bytes()), kind, "{cell}");
    }
    assert_eq!(parse(b" 7", Dtype::U8).unwrap(), Some(vec![7]));
    assert_eq!(parse(b"", Dtype::I64).unwrap(), None);
    assert!(parse(b"", Dtype::F32).unwrap().is_some());
    assert!(parse(b"300", Dtype::U8).unwrap_err().to_string().contains("expected u8, found `300`"));
    assert_eq!(parse(b"1", Dtype::Bool).unwrap(), Some(vec![1]));
}

fn written(rows: &[Vec<String>], always: bool, end: &str) -> String {
    let cell = |text: &String| {
        if always || text.is_empty() || text.contains([',', '"', '\n', '\r']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.clone()
        }
    };
    rows.iter().map(|row| row.iter().map(cell).collect::<Vec<_>>().join(",") + end).collect()
}

proptest! {
    #[test]
    fn what_is_written_comes_back(
        rows in prop::collection::vec(prop::collection::vec("[a,\"\n\r]{0,6}", 1..4), 0..6),
        always in any::<bool>(),
        crlf in any::<bool>(),
        cuts in prop::collection::vec(any::<usize>(), 0..4),
    ) {
        let data = written(&rows, always, if crlf { "\r\n" } else { "\n" });
        prop_assert_eq!(table(data.as_bytes(), b',').unwrap(), rows);
        let whole = in_pieces(Box::new(RowFinder::new(b',')), data.as_bytes(), &[]).unwrap();
        prop_assert_eq!(in_pieces(Box::new(RowFinder::new(b',')), data.as_bytes(), &cuts).unwrap(), whole);
    }

    #[test]
    fn no_bytes_make_it_panic(data in prop::collection::vec(prop::sample::select(b"a,\"\n\r\t;1".to_vec()), 0..60)) {
        fuzz_csv(&data);
        crate::split::fuzz_split(&[&[4], data.as_slice()].concat());
    }
}
