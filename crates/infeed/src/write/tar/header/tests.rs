use super::*;

#[test]
fn sizes_beyond_octal_are_written_twice() {
    let size = 5_000_000_000_000;
    let blocks = headers("a.bin", size, 0);
    assert_eq!(blocks.len(), 3 * BLOCK);
    assert!(blocks[BLOCK..].starts_with(b"22 size=5000000000000\n"));
    assert_eq!(blocks[2 * BLOCK + 124], 0x80);
    assert_eq!(blocks[2 * BLOCK + 128..2 * BLOCK + 136], size.to_be_bytes());
    assert_eq!(headers("a.bin", OCTAL_END - 1, 0).len(), BLOCK);
}

#[test]
fn a_record_counts_its_own_length() {
    for len in 1..1200 {
        let mut out = Vec::new();
        record(&mut out, "path", &"x".repeat(len));
        let text = String::from_utf8(out.clone()).unwrap();
        assert_eq!(text.split_once(' ').unwrap().0, out.len().to_string());
    }
}

#[test]
fn names_are_split_only_where_both_parts_fit() {
    let name = |a: usize, b: usize| format!("{}/{}", "d".repeat(a), "f".repeat(b));
    assert!(split(name(155, 100).as_bytes()).is_some());
    assert!(split(name(156, 100).as_bytes()).is_none());
    assert!(split(name(50, 101).as_bytes()).is_none());
    assert!(split(format!("/{}", "f".repeat(100)).as_bytes()).is_none());
    assert_eq!(split("f".repeat(100).as_bytes()).map(|(p, n)| (p.len(), n.len())), Some((0, 100)));
}
