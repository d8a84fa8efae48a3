//! Tests specific to JPEG. The rest is in the contract suite.

use super::super::{samples, tests::decode};
use super::*;

/// The same file with an EXIF block in front.
pub(in super::super) fn with_exif(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let block = [&b"Exif\0\0"[..], &samples::exif(orientation)].concat();
    let mut out = jpeg[..2].to_vec();
    out.extend([0xff, 0xe1]);
    out.extend((block.len() as u16 + 2).to_be_bytes());
    out.extend(block);
    out.extend(&jpeg[2..]);
    out
}

#[test]
fn a_shrunken_area_covers_the_region() {
    let region = |x, y, width, height| Rect { x, y, width, height };
    assert_eq!(shrunken(region(0, 0, 61, 47), 8), region(0, 0, 8, 6));
    assert_eq!(shrunken(region(7, 8, 2, 8), 8), region(0, 1, 2, 1));
    assert_eq!(shrunken(region(60, 46, 1, 1), 4), region(15, 11, 1, 1));
    assert_eq!(shrunken(region(3, 5, 7, 9), 1), region(3, 5, 7, 9));
}

#[test]
fn the_largest_sizes_are_refused_without_memory() {
    let mut bytes = samples::of("jpeg")[0].bytes.clone();
    let sof = bytes.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    bytes[sof + 5..sof + 9].copy_from_slice(&[0xff; 4]);
    assert!(decode("rgb", "{}", &bytes).unwrap_err().contains("JPEG claims 65535x65535 pixels"));
}

#[test]
fn a_truncated_file_says_so() {
    let bytes = &samples::of("jpeg")[0].bytes;
    let info = Jpeg.probe(bytes).unwrap();
    let want = Want { region: super::super::pixels::whole(&info), shrink: 1, channels: Channels::Rgb };
    let half = &bytes[..bytes.len() * 3 / 4];
    let error = Jpeg.read(half, &info, &want, &mut Scratch::new(), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("JPEG ends early: the file is truncated"), "{error}");
}

#[test]
fn odd_shrinks_are_our_own_fault() {
    let bytes = &samples::of("jpeg")[0].bytes;
    let info = Jpeg.probe(bytes).unwrap();
    let want = Want { region: super::super::pixels::whole(&info), shrink: 3, channels: Channels::Rgb };
    assert!(matches!(
        Jpeg.read(bytes, &info, &want, &mut Scratch::new(), &mut Vec::new()),
        Err(Error::Internal { .. })
    ));
}
