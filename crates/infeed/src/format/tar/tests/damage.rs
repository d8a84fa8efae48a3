use super::*;
use proptest::prelude::*;

fn sample() -> Maker {
    let long = format!("{}.txt", "n".repeat(130));
    Maker::default()
        .file("a.cls", b"1")
        .file("a.jpg", &[1; 1000])
        .pax(b'x', &[("path", &long)])
        .file("short.txt", b"long name")
        .member("././@LongLink", b'L', b"gnu.txt\0")
        .file("short.txt", &[2; 513])
        .file("c.cls", b"3")
        .end()
}

fn fault(bytes: &[u8]) -> (u64, String) {
    match index_of(bytes, false) {
        Err(Error::Format { shard, offset, what }) => {
            assert_eq!(shard, "x.tar");
            (offset, what)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cut_is_reported_or_lies_between_members() {
    let whole = sample().0;
    let rows = read(&whole);
    for cut in (0..whole.len()).step_by(100).chain((0..whole.len()).step_by(512)) {
        match index_of(&whole[..cut], false) {
            // No row is invented; the last one may lack fields if the cut is between its members.
            Ok(index) => {
                let found = rows_of(&whole[..cut], &index);
                assert!(found.iter().zip(&rows).rev().skip(1).all(|(a, b)| a == b), "cut at {cut}");
                assert!(found.last().zip(rows.get(found.len().max(1) - 1)).is_none_or(|(a, b)| a.0 == b.0));
            }
            Err(error) => {
                assert!(matches!(error, Error::Format { .. }), "{error}");
                assert!(error.to_string().contains("cut off"), "{error}");
            }
        }
        let kept = index_of(&whole[..cut], true).unwrap();
        assert!(kept.rows() <= rows.len() as u64);
    }
    let (offset, what) = fault(&whole[..2000]);
    assert_eq!((offset, what.contains("a.jpg")), (1024, true), "{what}");
    // A cut between a member and the header that announces it is not a cut between members.
    let announced = Maker::default().file("a.x", b"1").pax(b'x', &[("mtime", "1.5")]);
    assert!(fault(&announced.0).1.contains("before the member"));
    assert_eq!(index_of(&announced.0, true).unwrap().rows(), 0);
}

#[test]
fn a_broken_header_is_found_and_can_be_stepped_over() {
    let mut bytes =
        Maker::default().file("a.x", b"1").file("b.x", b"2").file("b.y", b"3").file("c.x", b"4").end().0;
    bytes[1024] ^= 0xff;
    let (offset, what) = fault(&bytes);
    assert_eq!(offset, 1024);
    assert!(what.contains("checksum"), "{what}");
    let index = index_of(&bytes, true).unwrap();
    // The row before the fault may continue inside it, so it is left out.
    let keys: Vec<String> = (0..index.rows()).map(|row| index.key(row)).collect();
    assert_eq!(keys, ["b", "c"]);
    assert_eq!(index.damage().len(), 1);
    assert!(index.damage()[0].contains("bytes 1024..2048 are skipped"), "{:?}", index.damage());
    assert!(index.damage()[0].contains("sample `a` is left out"), "{:?}", index.damage());
}

#[test]
fn the_rest_of_a_broken_row_is_left_out_too() {
    let mut bytes = Maker::default()
        .file("a.x", b"1")
        .file("b.x", b"2")
        .file("b.y", b"3")
        .file("b.z", b"4")
        .file("c.y", b"5")
        .0;
    bytes[2048 + 200] ^= 1;
    let index = index_of(&bytes, true).unwrap();
    assert_eq!(rows_of(&bytes, &index), [row("a", &[("x", b"1")]), row("c", &[("y", b"5")])]);
}

#[test]
fn repeated_fields_are_refused() {
    let tar = Maker::default().file("k.jpg", b"1").file("k.JPG", b"2").file("l.jpg", b"3");
    let (offset, what) = fault(&tar.0);
    assert_eq!(offset, 1024);
    assert_eq!(what, "sample `k` has the field `jpg` twice");
    let index = index_of(&tar.0, true).unwrap();
    assert_eq!(rows_of(&tar.0, &index), [row("l", &[("jpg", b"3")])]);
}

#[test]
fn absurd_sizes_are_refused() {
    let sizes: [&[u8]; 4] = [
        b"\x80\0\0\0\x80\0\0\0\0\0\0\0",
        b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff",
        b"77777777777\0",
        b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for size in sizes {
        for kind in [b'0', b'x', b'L', b'g', b'K'] {
            let bytes = Maker::default().raw(&header(b"a.x", kind, size)).raw(&[0; 2048]).0;
            assert!(index_of(&bytes, false).is_err(), "{size:?}");
            assert_eq!(index_of(&bytes, true).unwrap().rows(), 0);
        }
    }
    for size in [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"12x45678901\0"] {
        assert!(fault(&header(b"a.x", b'0', size)).1.contains("not a number"));
    }
    let pax = Maker::default().pax(b'x', &[("size", "18446744073709551615")]).file("a.x", b"1");
    assert!(fault(&pax.0).1.contains("cut off"));
    let overflow = Maker::default().pax(b'x', &[("size", "99999999999999999999")]).file("a.x", b"1");
    assert!(fault(&overflow.0).1.contains("not a number"));
}

#[test]
fn sparse_files_are_refused() {
    let old = Maker::default().member("a.bin", b'S', b"1").file("b.bin", b"2");
    assert!(fault(&old.0).1.contains("member `a.bin` is a sparse file"));
    assert_eq!(index_of(&old.0, true).unwrap().rows(), 1);
    let new = Maker::default().pax(b'x', &[("GNU.sparse.major", "1")]).file("a.bin", b"1");
    assert!(fault(&new.0).1.contains("sparse"));
}

#[test]
fn malformed_records_are_refused() {
    for text in
        ["x", "9999 path=a\n", "0 path=a\n", "3 a\n", "11 path=abc", "8 nothing\n", "+9 a=bcd\n", "5 a=b\n"]
    {
        let tar = Maker::default().member("x", b'x', text.as_bytes()).file("a.x", b"1");
        assert!(fault(&tar.0).1.contains("PAX"), "{text}");
    }
}

#[test]
fn compressed_tars_are_named() {
    let starts: [(&[u8], &str); 4] = [
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"BZh9", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
    ];
    for (start, name) in starts {
        for padding in [0, 2048] {
            let bytes = [start, &vec![3; padding]].concat();
            let (_, what) = fault(&bytes);
            assert_eq!(
                what,
                format!(
                    "this is compressed ({name}), not a plain tar; under a name that says so (.tar.gz, .tar.zst, ...) it \
                     is read as a stream"
                )
            );
            assert!(index_of(&bytes, true).is_err());
        }
    }
    assert_eq!(read(&Maker::default().file("BZh.x", b"1").0).len(), 1);
}

#[test]
fn what_is_no_tar_is_named() {
    for padding in [0, 2048] {
        for (start, what) in [
            (&b"<!DOCTYPE html><html>"[..], "this is an HTML page, not the data"),
            (b"\n<?xml version=\"1.0\"?>", "this is XML, not the data"),
            (b"version https://git-lfs.github.com/spec/v1\n", "this is a Git LFS pointer, not the data"),
            (b"{\"error\": 404}", "this is JSON, not a tar"),
        ] {
            let (at, found) = fault(&[start, &vec![b' '; padding]].concat());
            assert!(at == 0 && found.starts_with(what), "{found}");
        }
    }
    // A page behind a member is damage, as any other bytes there.
    let tar = Maker::default().file("a.x", b"1").0;
    let (at, found) = fault(&[&tar[..1024], b"<html>", &[b' '; 600]].concat());
    assert!(at == 1024 && found.contains("checksum"), "{found}");
}

proptest! {
    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..3000), lenient: bool) {
        let _ = index_of(&bytes, lenient);
    }

    #[test]
    fn changed_bytes_are_survived(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), lenient: bool, resign: bool) {
        let mut bytes = sample().0;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
            if resign {
                let block = at / 512 * 512;
                let signed = sign(bytes[block..block + 512].try_into().unwrap());
                bytes[block..block + 512].copy_from_slice(&signed);
            }
        }
        if let Ok(index) = index_of(&bytes, lenient) {
            rows_of(&bytes, &index);
        }
    }
}
