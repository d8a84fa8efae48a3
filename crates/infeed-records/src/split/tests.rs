use super::*;
use proptest::prelude::*;

fn rows(split: impl Split + 'static, data: &str) -> Vec<String> {
    let rows = in_pieces(Box::new(split), data.as_bytes(), &[]).unwrap();
    rows.into_iter().map(|row| String::from_utf8(row).unwrap()).collect()
}

#[test]
fn lines_with_and_without_blank_ones() {
    assert_eq!(rows(Lines::new(true), "a\n\nb"), ["a\n", "\n", "b"]);
    assert_eq!(rows(Lines::new(false), "\n a\n\r\n \nb\n\n"), ["\n a\n", "\r\n \nb\n"]);
    assert!(rows(Lines::new(true), "").is_empty());
}

#[test]
fn paragraphs_and_the_whole() {
    assert_eq!(rows(Paragraphs::default(), "\na\nb\n\n\nc"), ["\na\nb\n", "\n\nc"]);
    assert_eq!(rows(Paragraphs::default(), "a\n \nb\n\n"), ["a\n", " \nb\n"]);
    assert!(rows(Paragraphs::default(), "\n\n").is_empty());
    assert_eq!(rows(Whole::default(), ""), [""]);
    assert_eq!(rows(Whole::default(), "a\nb"), ["a\nb"]);
}

#[test]
fn lines_are_counted() {
    let mut ends = vec![];
    Lines::new(false).split(b"a\n\n\nb\nc", true, &mut ends).unwrap();
    assert_eq!(ends.iter().map(|end| end.lines).collect::<Vec<_>>(), [1, 3, 1]);
    ends.clear();
    Paragraphs::default().split(b"a\nb\n\nc", true, &mut ends).unwrap();
    assert_eq!(ends.iter().map(|end| end.lines).collect::<Vec<_>>(), [2, 2]);
}

proptest! {
    #[test]
    fn pieces_give_the_same_rows(text in "[a \r\n]{0,40}", cuts in prop::collection::vec(any::<usize>(), 0..5)) {
        for kind in 0..4 {
            let make = || -> Box<dyn Split> {
                match kind {
                    0 => Box::new(Lines::new(true)),
                    1 => Box::new(Lines::new(false)),
                    2 => Box::new(Paragraphs::default()),
                    _ => Box::new(Whole::default()),
                }
            };
            let whole = in_pieces(make(), text.as_bytes(), &[]).unwrap();
            prop_assert_eq!(in_pieces(make(), text.as_bytes(), &cuts).unwrap(), whole);
        }
    }

    #[test]
    fn lines_are_those_of_the_standard_library(text in "[a \r\n]{0,40}") {
        let ours = rows(Lines::new(true), &text);
        let ours: Vec<&str> = ours.iter().map(|row| row.strip_suffix('\n').unwrap_or(row)).collect();
        let theirs: Vec<&str> = text.split_terminator('\n').collect();
        prop_assert_eq!(ours, theirs);
        fuzz_split(text.as_bytes());
    }
}
