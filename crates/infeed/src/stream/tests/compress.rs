use super::*;
use infeed_core::Error;

fn named(packing: Packing) -> String {
    format!("x.tar{}", packing.endings()[0])
}

#[test]
fn compressed_tars_equal_plain_ones() {
    let tar = numbered(0..40, 3000);
    let (wanted, end) = rows_of("x.tar", &tar);
    end.unwrap();
    assert_eq!(wanted.len(), 40);
    for packing in Packing::ALL {
        let packed = pack(packing, &tar);
        assert_eq!(crate::stream::compress::packing_of(&packed), Some(packing));
        let (rows, end) = rows_of(&named(packing), &packed);
        end.unwrap();
        assert!(rows == wanted, "{packing:?}");
    }
}

#[test]
fn members_behind_one_another_are_one_stream() {
    let tar = numbered(0..20, 2000);
    let wanted = rows_of("x.tar", &tar).0;
    for packing in Packing::ALL {
        let mut packed = Vec::new();
        for piece in tar.chunks(7_777) {
            packed.extend(pack(packing, piece));
        }
        for zeros in [0, 1, 5000] {
            let padded = [packed.as_slice(), &vec![0; zeros]].concat();
            let (rows, end) = rows_of(&named(packing), &padded);
            end.unwrap();
            assert!(rows == wanted, "{packing:?}");
        }
        // Other data after the last member is not padding.
        let rest = [packed.as_slice(), b"something else, and not a short one either"].concat();
        assert!(rows_of(&named(packing), &rest).1.is_err(), "{packing:?}");
    }
}

#[test]
fn a_cut_is_never_a_quiet_end() {
    // The second tar is one repeated value, so its blocks are a few bytes.
    let even = tar_of([("a.x", &[7; 300_000][..]), ("b.x", &[7; 200_000])]);
    for tar in [numbered(0..6, 500), even] {
        let wanted = rows_of("x.tar", &tar).0;
        for packing in Packing::ALL {
            let packed = pack(packing, &tar);
            for cut in
                (0..packed.len()).step_by((packed.len() / 300).max(1)).chain(packed.len() - 20..packed.len())
            {
                let (rows, end) = rows_of(&named(packing), &packed[..cut]);
                let error = end.expect_err(&format!("{packing:?} cut at {cut} of {}", packed.len()));
                assert!(wanted.starts_with(&rows), "{packing:?} cut at {cut}");
                assert!(matches!(&error, Error::Format { offset, .. } if *offset <= cut as u64), "{error}");
            }
        }
    }
}

#[test]
fn a_cut_between_members_shows_in_the_tar() {
    let tar = numbered(0..6, 500);
    for packing in Packing::ALL {
        let packed = pack(packing, &tar[..1000]);
        assert!(rows_of(&named(packing), &packed).1.unwrap_err().to_string().contains("cut off"));
    }
}

#[test]
fn changed_bytes_are_found() {
    let tar = numbered(0..6, 500);
    let wanted = rows_of("x.tar", &tar).0;
    for packing in Packing::ALL {
        let packed = pack(packing, &tar);
        let mut found = 0;
        for at in (0..packed.len()).step_by((packed.len() / 400).max(1)) {
            let mut spoilt = packed.clone();
            spoilt[at] ^= 0x41;
            let (rows, end) = rows_of(&named(packing), &spoilt);
            match end {
                // Times and names in headers are not checked.
                Ok(()) => assert!(rows == wanted, "{packing:?} changed at {at}"),
                Err(Error::Format { .. }) => found += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert!(found > 300, "{packing:?} {found}");
    }
}

#[test]
fn what_is_damaged_says_so() {
    let packed = pack(Packing::Gzip, &numbered(0..6, 500));
    let end = packed.len();
    let mut spoilt = packed.clone();
    spoilt[end - 6] ^= 1;
    let error = rows_of("x.tar.gz", &spoilt).1.unwrap_err().to_string();
    assert!(error.starts_with("shard `x.tar.gz` is damaged at byte "), "{error}");
    assert!(error.contains("the gzip data cannot be read beyond here"), "{error}");
    let error = rows_of("x.tar.gz", &packed[..end - 3]).1.unwrap_err().to_string();
    assert!(error.contains(&format!("at byte {}: the gzip data is cut off here", end - 3)), "{error}");
    let error = rows_of("x.tar.zst", b"").1.unwrap_err().to_string();
    assert!(error.contains("there is no zstd data"), "{error}");
    assert!(rows_of("x.tar", b"").1.is_ok());
}

#[test]
fn a_tar_that_looks_compressed_is_a_tar() {
    let tar = tar_of([("BZh9.x", &b"1"[..])]);
    assert_eq!(crate::stream::compress::packing_of(&tar), None);
    assert_eq!(rows_of("x.tar", &tar).0[0].0, "BZh9");
}

#[test]
fn what_needs_too_much_memory_is_refused() {
    // A zstd frame with a window of 1 GiB, and nothing in it.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x01, 0x00, 0x00];
    let error = rows_of("x.tar.zst", &frame).1.unwrap_err().to_string();
    assert!(error.contains("memory"), "{error}");
}

/// Endless zeros from a tiny file: only one buffer of them is ever held.
#[test]
fn bombs_flow_through() {
    let zeros = vec![0; 64 << 20];
    let tar = [tar_of([("a.x", &b"1"[..])]), zeros].concat();
    for packing in [Packing::Gzip, Packing::Zstd] {
        let (rows, end) = rows_of(&named(packing), &pack(packing, &tar));
        end.unwrap();
        assert_eq!(rows.len(), 1);
    }
}

/// A frame of the legacy format, as old programs write it: blocks of 8 MiB, each with its length.
fn legacy(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x02, 0x21, 0x4c, 0x18];
    for block in data.chunks(8 << 20) {
        let packed = lz4_flex::block::compress(block);
        out.extend((packed.len() as u32).to_le_bytes());
        out.extend(packed);
    }
    out
}

fn skipped(len: usize) -> Vec<u8> {
    [&[0x5a, 0x2a, 0x4d, 0x18][..], &(len as u32).to_le_bytes(), &vec![7; len]].concat()
}

#[test]
fn lz4_frames_of_every_kind() {
    let tar = numbered(0..20, 2000);
    let large = tar_of([("a.x", &vec![5; 9 << 20][..]), ("b.x", &b"1"[..])]);
    let (wanted, all) = (rows_of("x.tar", &tar).0, rows_of("x.tar", &large).0);
    let (front, back) = tar.split_at(9_999);
    let frame = pack(Packing::Lz4, back);
    for (packed, rows) in [
        (legacy(&tar), &wanted),
        (legacy(&large), &all),
        ([legacy(front), legacy(back)].concat(), &wanted),
        ([legacy(front), frame.clone()].concat(), &wanted),
        ([pack(Packing::Lz4, front), legacy(back)].concat(), &wanted),
        ([skipped(100), pack(Packing::Lz4, front), skipped(0), frame.clone(), skipped(3)].concat(), &wanted),
        ([skipped(2_000_000), legacy(front), skipped(5), legacy(back), vec![0; 600]].concat(), &wanted),
        ([skipped(2_000_000), pack(Packing::Lz4, &tar)].concat(), &wanted),
    ] {
        let (found, end) = rows_of("x.tar.lz4", &packed);
        end.unwrap();
        assert!(found == *rows);
    }
    let packed = [skipped(9), pack(Packing::Zstd, front), skipped(9), pack(Packing::Zstd, back)].concat();
    let (found, end) = rows_of("x.tar.zst", &packed);
    end.unwrap();
    assert!(found == wanted);
}

#[test]
fn damaged_lz4_frames_are_found() {
    let tar = numbered(0..6, 500);
    let packed = legacy(&tar);
    for cut in 5..packed.len() {
        assert!(rows_of("x.tar.lz4", &packed[..cut]).1.is_err(), "cut at {cut}");
    }
    for bytes in [&[0xff, 0xff, 0xff, 0x7f][..], &[4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]] {
        let packed = [&[0x02, 0x21, 0x4c, 0x18], bytes].concat();
        let error = rows_of("x.tar.lz4", &packed).1.unwrap_err().to_string();
        assert!(error.contains("the lz4 data cannot be read beyond here"), "{error}");
    }
    let error = rows_of("x.tar.lz4", &skipped(100)[..50]).1.unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
}
