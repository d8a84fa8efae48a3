//! Tests specific to PNG. The rest is in the contract suite.

use super::super::{samples, tests::decode};
use super::*;

fn crc(data: &[u8]) -> u32 {
    !data.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
    })
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let named = [&name[..], data].concat();
    [&(data.len() as u32).to_be_bytes()[..], &named, &crc(&named).to_be_bytes()].concat()
}

/// Signature and IHDR are the first 33 bytes.
const HEADER: usize = 33;

/// A file that claims to be of a size.
pub(in super::super) fn claiming(width: u32, height: u32) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    out.extend(chunk(b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat()));
    out.extend(chunk(b"IDAT", &[0; 8]));
    out
}

/// The same file with an EXIF block.
pub(in super::super) fn with_exif(png: &[u8], orientation: u8) -> Vec<u8> {
    let block = chunk(b"eXIf", &samples::exif(orientation));
    [&png[..HEADER], &block, &png[HEADER..]].concat()
}

#[test]
fn orientation_is_found_behind_the_pixels_too() {
    let png = &samples::of("png")[0].bytes;
    assert_eq!(orientation(png), 1);
    let end = png.len() - 12;
    let late = [&png[..end], &chunk(b"eXIf", &samples::exif(6)), &png[end..]].concat();
    assert_eq!(orientation(&late), 6);
    assert_eq!(orientation(&with_exif(png, 9)), 1);
}

#[test]
fn the_last_pixels_are_missed() {
    let png = &samples::of("png")[2].bytes;
    let info = Png.probe(png).unwrap();
    let want = Want { region: whole(&info), shrink: 1, channels: Channels::Rgb };
    let short = &png[..png.len() - 30];
    let error = Png.read(short, &info, &want, &mut Scratch::new(), &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("PNG ends early: the file is truncated"), "{error}");
}

#[test]
fn a_flipped_bit_is_told() {
    let mut png = samples::of("png")[2].bytes.clone();
    png[20] ^= 1;
    assert!(decode("rgb", "{}", &png).unwrap_err().contains("corrupt PNG"));
}
