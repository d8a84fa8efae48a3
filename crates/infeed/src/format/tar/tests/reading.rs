use super::*;

#[test]
fn members_with_one_key_are_one_row() {
    let tar = Maker::default().file("a.cls", b"1").file("a.JPG", b"pixels").file("b.cls", b"").end();
    let rows = read(&tar.0);
    assert_eq!(rows, [row("a", &[("cls", b"1"), ("jpg", b"pixels")]), row("b", &[("cls", b"")])]);
    let index = index_of(&tar.0, false).unwrap();
    let fields: Vec<Arc<str>> = vec!["jpg".into(), "nothing".into()];
    assert_eq!(
        (index.row_bytes(0, &fields), index.row_bytes(1, &fields), index.row_bytes(9, &fields)),
        (6, 0, 0)
    );
    assert!(index.ranges(&[2], &fields).is_err());
    assert!(index.cut(&[0], &fields, vec![]).is_err());
    assert!(index.cut(&[1], &fields, vec![Bytes::new()]).is_err());
}

#[test]
fn names_are_cut_as_webdataset_cuts_them() {
    let cut = |name: &'static str| names::split(name.as_bytes()).map(|(k, e)| (k.to_vec(), e.to_vec()));
    let is = |key: &str, extension: &str| Some((key.as_bytes().to_vec(), extension.as_bytes().to_vec()));
    assert_eq!(cut("a.jpg"), is("a", "jpg"));
    assert_eq!(cut("dir.d/a.seg.png"), is("dir.d/a", "seg.png"));
    assert_eq!(cut("./a.jpg"), is("./a", "jpg"));
    assert_eq!(cut("a."), is("a", ""));
    assert_eq!(cut("plain"), None);
    assert_eq!(cut("dir.d/plain"), None);
    assert_eq!(cut(".hidden"), None);
    // WebDataset's expression makes the folder the key of a hidden file, unless it has a dot.
    assert_eq!(cut("x/y/.h.z"), is("x/y/", "h.z"));
    assert_eq!(cut("x/y.d/.h"), None);
    for note in ["__info__", "__info__/a.jpg", "____"] {
        assert!(names::is_note(note.as_bytes()), "{note}");
    }
    for sample in ["__info__.jpg", "a/__info__", "__a", "___"] {
        assert!(!names::is_note(sample.as_bytes()), "{sample}");
    }
}

#[test]
fn only_regular_files_count() {
    let tar = Maker::default()
        .member("dir/", b'5', b"")
        .file("dir/a.txt", b"1")
        .member("dir/a.link", b'2', b"")
        .member("dir/a.hard", b'1', b"")
        .file("README", b"no dot")
        .file("__meta__/a.txt", b"note")
        .member("dir/a.odd", b'Z', b"vendor data")
        .member("dir/a.old", 0, b"2")
        .member("dir/a.dense", b'7', b"3")
        .member("olddir.x/", 0, b"")
        .end();
    assert_eq!(read(&tar.0), [row("dir/a", &[("dense", b"3"), ("old", b"2"), ("txt", b"1")])]);
}

#[test]
fn a_key_that_comes_back_later_is_a_new_row() {
    let tar = Maker::default().file("a.x", b"1").file("b.x", b"2").file("a.y", b"3").end();
    let keys: Vec<String> = read(&tar.0).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["a", "b", "a"]);
}

#[test]
fn long_names_and_records_are_understood() {
    let long = format!("{}.jpg", "n".repeat(300));
    let gnu = Maker::default()
        .member("././@LongLink", b'L', format!("{long}\0").as_bytes())
        .member("././@LongLink", b'K', b"target\0")
        .file("nnn.jpg", b"1");
    assert_eq!(read(&gnu.0)[0].0, "n".repeat(300));
    let pax = Maker::default()
        .pax(b'g', &[("comment", "made by hand")])
        .pax(b'x', &[("mtime", "1.5"), ("path", &long)])
        .file("short.jpg", b"1")
        .file("next.jpg", b"2");
    let keys: Vec<String> = read(&pax.0).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["n".repeat(300).as_str(), "next"]);
    // The size in a PAX record overrides the one in the header.
    let mut sized = Maker::default().pax(b'x', &[("size", "5")]);
    sized.0.extend_from_slice(&header(b"a.x", b'0', b"00000000000\0"));
    let sized = sized.raw(b"12345").raw(&[0; 507]).file("b.x", b"6");
    assert_eq!(read(&sized.0), [row("a", &[("x", b"12345")]), row("b", &[("x", b"6")])]);
}

#[test]
fn prefixes_binary_sizes_and_signed_sums_are_understood() {
    let mut block = header(b"a.x", b'0', b"00000000003\0");
    block[345..348].copy_from_slice(b"d/e");
    let posix = Maker::default().raw(&sign(block)).raw(b"123").raw(&[0; 509]);
    assert_eq!(read(&posix.0), [row("d/e/a", &[("x", b"123")])]);
    block[257..265].copy_from_slice(b"ustar  \0");
    let gnu = Maker::default().raw(&sign(block)).raw(b"123").raw(&[0; 509]);
    assert_eq!(read(&gnu.0), [row("a", &[("x", b"123")])]);
    let binary = Maker::default().raw(&header(b"a.x", b'0', b"\x80\0\0\0\0\0\0\0\0\0\0\x03")).raw(&[7; 512]);
    assert_eq!(read(&binary.0), [row("a", &[("x", &[7; 3])])]);
    let mut block = header("ä.x".as_bytes(), 0, b"       3 ");
    block[257..265].fill(0);
    block[148..156].fill(b' ');
    let sum: i32 = block.iter().map(|b| i32::from(*b as i8)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let signed = Maker::default().raw(&block).raw(&[7; 512]);
    assert_eq!(read(&signed.0), [row("ä", &[("x", &[7; 3])])]);
}

#[test]
fn archives_behind_one_another_are_all_read() {
    let one = || Maker::default().file("a.x", b"1").raw(&[0; 4096]);
    let both = one().raw(&one().0);
    assert_eq!(read(&both.0), [row("a", &[("x", b"1")]), row("a", &[("x", b"1")])]);
    let lone = Maker::default().file("a.x", b"1").raw(&[0; 512]).file("a.y", b"2");
    assert_eq!(read(&lone.0), [row("a", &[("x", b"1"), ("y", b"2")])]);
    // Other data after the end is ignored, but recorded.
    let trailer = one().raw(b"signature");
    assert_eq!(read(&trailer.0).len(), 1);
    assert!(index_of(&trailer.0, false).unwrap().damage()[0].contains("after the end"));
}

#[test]
fn missing_end_blocks_and_empty_archives_are_fine() {
    assert_eq!(read(&Maker::default().file("a.x", b"1").0).len(), 1);
    assert_eq!(read(&Maker::default().file("a.x", b"1").raw(&[0; 100]).0).len(), 1);
    assert_eq!(index_of(&[], false).unwrap().rows(), 0);
    assert_eq!(index_of(&[0; 10240], false).unwrap().rows(), 0);
}

#[test]
fn archives_of_the_tar_crate_are_read() {
    let mut out = ::tar::Builder::new(Vec::new());
    let deep = format!("{}/{}.png", "d".repeat(90), "f".repeat(90));
    for name in ["a.txt", &deep] {
        let mut head = ::tar::Header::new_gnu();
        head.set_size(600);
        out.append_data(&mut head, name, [5u8; 600].as_slice()).unwrap();
    }
    let bytes = out.into_inner().unwrap();
    let rows = read(&bytes);
    assert_eq!(rows[0], row("a", &[("txt", &[5; 600])]));
    assert_eq!(format!("{}.png", rows[1].0), deep);
}

#[test]
fn small_and_large_members_mix() {
    let mut tar = Maker::default();
    let mut wanted = Vec::new();
    for i in 0..200u32 {
        let size = if (50..150).contains(&i) { 90_000 + i as usize } else { i as usize };
        let data = vec![i as u8; size];
        tar = tar.pax(b'x', &[("mtime", "1.5")]).file(&format!("{i:04}.bin"), &data);
        wanted.push(row(&format!("{i:04}"), &[("bin", &data)]));
    }
    assert_eq!(read(&tar.end().0), wanted);
}
