//! Reading headers: every field, and bytes that are not a header.

use turbojpeg_sys as tj;

use super::samples::{Random, SIZES, Sample};
use crate::{Color, Error, Subsampling, read_header};

#[test]
fn states_what_was_encoded() {
    let kinds = [
        (tj::TJSAMP_TJSAMP_444, Subsampling::S444),
        (tj::TJSAMP_TJSAMP_422, Subsampling::S422),
        (tj::TJSAMP_TJSAMP_420, Subsampling::S420),
        (tj::TJSAMP_TJSAMP_440, Subsampling::S440),
        (tj::TJSAMP_TJSAMP_411, Subsampling::S411),
        (tj::TJSAMP_TJSAMP_441, Subsampling::S441),
        (tj::TJSAMP_TJSAMP_GRAY, Subsampling::Gray),
    ];
    for size in SIZES {
        for (code, subsampling) in kinds {
            for progressive in [false, true] {
                let file = Sample { size, subsampling: code, progressive, ..Sample::default() }.encode();
                let header = read_header(&file).unwrap();
                assert_eq!((header.width, header.height), size);
                assert_eq!(header.subsampling, subsampling);
                assert_eq!(header.progressive, progressive);
                assert_eq!(header.orientation, 1);
                let gray = subsampling == Subsampling::Gray;
                assert_eq!(header.color, if gray { Color::Gray } else { Color::Ycc });
            }
        }
    }
    let file = Sample { cmyk: true, subsampling: tj::TJSAMP_TJSAMP_444, ..Sample::default() }.encode();
    assert_eq!(read_header(&file).unwrap().color, Color::Ycck);
    let file = Sample { rgb: true, ..Sample::default() }.encode();
    assert_eq!(read_header(&file).unwrap().color, Color::Rgb);
}

/// An APP1 segment with one unrelated tag and the orientation.
fn exif(orientation: u16, little_endian: bool) -> Vec<u8> {
    let two = |value: u16| if little_endian { value.to_le_bytes() } else { value.to_be_bytes() };
    let four = |value: u32| if little_endian { value.to_le_bytes() } else { value.to_be_bytes() };
    let mut tiff = Vec::new();
    tiff.extend(if little_endian { b"II" } else { b"MM" });
    tiff.extend(two(42));
    tiff.extend(four(8));
    tiff.extend(two(2));
    for (tag, value) in [(0x0100, 640), (0x0112, orientation)] {
        tiff.extend(two(tag));
        tiff.extend(two(3));
        tiff.extend(four(1));
        tiff.extend(two(value));
        tiff.extend(two(0));
    }
    tiff.extend(four(0));
    let mut segment = vec![0xFF, 0xE1];
    segment.extend(((tiff.len() + 8) as u16).to_be_bytes());
    segment.extend(b"Exif\0\0");
    segment.extend(tiff);
    segment
}

#[test]
fn finds_the_orientation_in_both_byte_orders() {
    let file = Sample::default().encode();
    for orientation in 0..=9 {
        for little_endian in [false, true] {
            let mut turned = file[..2].to_vec();
            turned.extend(exif(orientation, little_endian));
            turned.extend(&file[2..]);
            let expected = if (1..=8).contains(&orientation) { orientation as u8 } else { 1 };
            assert_eq!(read_header(&turned).unwrap().orientation, expected);
        }
    }
}

#[test]
fn survives_any_bytes() {
    assert_eq!(read_header(b""), Err(Error::NotJpeg));
    assert_eq!(read_header(b"\x89PNG\r\n\x1a\n"), Err(Error::NotJpeg));
    assert_eq!(read_header(b"\xff\xd8"), Err(Error::Truncated));
    let mut random = Random::new(7);
    let mut file = Sample::default().encode();
    file.splice(2..2, exif(6, true));
    let end = file.len().min(900);
    for length in 0..end {
        // What matters is that it returns.
        let _ = read_header(&file[..length]);
    }
    for _ in 0..20_000 {
        let mut broken = file.clone();
        for _ in 0..1 + random.below(6) {
            let at = random.below(end as u32) as usize;
            broken[at] = random.below(256) as u8;
        }
        let _ = read_header(&broken);
    }
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[test]
fn libjpeg_turbo_uses_simd() {
    assert!(crate::simd_enabled());
}
