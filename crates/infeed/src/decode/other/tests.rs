//! Tests specific to these formats. The rest is in the contract suite.

use super::super::{samples, tests::decode};
use super::*;
use infeed_core::{Channels, Rect};

fn rgb(codec: Other, bytes: &[u8]) -> Vec<u8> {
    let info = codec.probe(bytes).unwrap();
    let region = Rect { x: 0, y: 0, width: info.width, height: info.height };
    let want = Want { region, shrink: 1, channels: Channels::Rgb };
    let mut out = Vec::new();
    codec.read(bytes, &info, &want, &mut Scratch::new(), &mut out).unwrap();
    out
}

#[test]
fn portable_maps_are_stretched_to_eight_bits() {
    assert_eq!(rgb(Other::Pnm, b"P3 2 1 15 0 5 15 15 0 1"), [0, 85, 255, 255, 0, 17]);
    assert_eq!(rgb(Other::Pnm, b"P1 3 1 0 1 0"), [255, 255, 255, 0, 0, 0, 255, 255, 255]);
    assert_eq!(rgb(Other::Pnm, b"P5 1 1 65535 \x12\x34"), [0x12; 3]);
}

#[test]
fn alpha_is_dropped_and_not_blended() {
    let sample = &samples::of("bmp")[1];
    let expected: Vec<u8> = sample.stored.as_ref().unwrap().chunks(4).flat_map(|p| p[..3].to_vec()).collect();
    assert_eq!(rgb(Other::Bmp, &sample.bytes), expected);
}

#[test]
fn ink_is_refused() {
    let mut tiff = samples::of("tiff")[2].bytes.clone();
    // PhotometricInterpretation: RGB becomes CMYK.
    let at = tiff.windows(4).position(|w| w == [6, 1, 3, 0]).unwrap();
    tiff[at + 8] = 5;
    let message = decode("rgb", "{}", &tiff).unwrap_err();
    assert!(message.contains("unsupported TIFF: CMYK colours; convert it"), "{message}");
}

#[test]
fn weak_signs_are_checked_further() {
    assert!(!Other::Bmp.sniff(b"BMW is a car"));
    assert!(!Other::Pnm.sniff(b"P4ssword"));
    assert!(!Other::Tiff.sniff(b"II"));
}

/// Another tag in the place of one that decoding does not need.
fn replaced(tiff: &[u8], from: u16, to: u16, value: u16) -> Vec<u8> {
    let mut tiff = tiff.to_vec();
    let at = tiff.windows(4).position(|w| w[..2] == from.to_le_bytes() && w[3] == 0 && w[2] < 6).unwrap();
    tiff[at..at + 12].copy_from_slice(
        &[&to.to_le_bytes()[..], &[3, 0, 1, 0, 0, 0], &value.to_le_bytes(), &[0, 0]].concat(),
    );
    tiff
}

/// A tag that the encoder of the tests writes and decoders do not look at: the vertical resolution.
const UNUSED: u16 = 283;

#[test]
fn what_would_be_read_wrongly_is_refused() {
    let gray = &samples::of("tiff")[0].bytes;
    let message = decode("rgb", "{}", &replaced(gray, UNUSED, 266, 2)).unwrap_err();
    assert!(message.contains("unsupported TIFF: fill order 2"), "{message}");
    decode("rgb", "{}", &replaced(gray, UNUSED, 266, 1)).unwrap();
    // Tiles alone are read, and so are planes alone.
    let tiled = tiff::Facts::read(&replaced(gray, UNUSED, 322, 16));
    tiled.check().unwrap();
    let rgb = &samples::of("tiff")[1].bytes;
    let planar = replaced(&replaced(rgb, UNUSED, 322, 16), 282, 284, 2);
    let message = decode("rgb", "{}", &planar).unwrap_err();
    assert!(message.contains("tiles that hold one channel each"), "{message}");
}

#[test]
fn colours_are_divided_by_alpha_where_they_were_multiplied() {
    let sample = &samples::of("tiff")[2];
    let associated = replaced(&sample.bytes, UNUSED, 338, 1);
    let stored = sample.stored.as_ref().unwrap();
    let expected: Vec<u8> = stored
        .chunks(4)
        .flat_map(|p| [0, 1, 2].map(|c| (u32::from(p[c]) * 255).checked_div(p[3].into()).unwrap_or(0)))
        .map(|v| v.min(255) as u8)
        .collect();
    assert_eq!(rgb(Other::Tiff, &associated), expected);
    assert_ne!(rgb(Other::Tiff, &sample.bytes), expected);

    let mut pixel: Vec<u8> = [300u16, 40000, 0, 20000].iter().flat_map(|v| v.to_ne_bytes()).collect();
    tiff::unmultiply(&mut pixel, 4, true, Channels::Stored);
    let values: Vec<u16> = pixel.as_chunks::<2>().0.iter().map(|b| u16::from_ne_bytes(*b)).collect();
    assert_eq!(values, [983, 65535, 0, 20000]);
}

#[test]
fn directories_of_every_kind_are_read() {
    let big = b"MM\0\x2b\0\x08\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\x01\x01\x0a\0\x03\0\0\0\0\0\0\0\x01\0\x02\0\0\0\0\0\0";
    assert!(tiff::Facts::read(big).check().is_err());
    // Three values do not fit into an entry: they lie behind it.
    let mut far = b"II*\0\x08\0\0\0\x01\0\x52\x01\x03\0\x03\0\0\0\x1a\0\0\0\0\0\0\0".to_vec();
    far.extend([1, 0, 0, 0, 0, 0]);
    assert!(tiff::Facts::read(&far).premultiplied);
    for cut in 0..far.len() - 6 {
        assert!(!tiff::Facts::read(&far[..cut]).premultiplied);
    }
    let endless = b"II*\0\x08\0\0\0\xff\xff";
    assert_eq!(tiff::Facts::read(endless), tiff::Facts::default());
}

/// A bitmap with the header of Windows 3.
fn bitmap(size: (u32, u32), bits: u16, compression: u32, palette: &[[u8; 4]], data: &[u8]) -> Vec<u8> {
    let start = 54 + palette.len() as u32 * 4;
    let mut out = b"BM".to_vec();
    out.extend((start + data.len() as u32).to_le_bytes());
    out.extend([0; 4]);
    out.extend(start.to_le_bytes());
    out.extend([40u32, size.0, size.1].iter().flat_map(|n| n.to_le_bytes()));
    out.extend([1u16, bits].iter().flat_map(|n| n.to_le_bytes()));
    let colours = if bits <= 8 { palette.len() as u32 } else { 0 };
    let rest = [compression, data.len() as u32, 2835, 2835, colours, 0];
    out.extend(rest.iter().flat_map(|n| n.to_le_bytes()));
    out.extend(palette.concat());
    out.extend(data);
    out
}

#[test]
fn colours_of_five_bits_are_rounded_down() {
    // All 32 values of red and green, in one row.
    let data: Vec<u8> = (0..32u16).flat_map(|i| ((i << 10) | ((31 - i) << 5)).to_le_bytes()).collect();
    let expected: Vec<u8> =
        (0..32u32).flat_map(|i| [(i * 255 / 31) as u8, ((31 - i) * 255 / 31) as u8, 0]).collect();
    assert_eq!(rgb(Other::Bmp, &bitmap((32, 1), 16, 0, &[], &data)), expected);
    // Six bits of green, with masks in the place of a palette.
    let masks = [0xf800u32, 0x7e0, 0x1f].map(u32::to_le_bytes);
    let data: Vec<u8> = (0..64u16).flat_map(|i| ((i << 5) | (i / 2)).to_le_bytes()).collect();
    let expected: Vec<u8> =
        (0..64u32).flat_map(|i| [0, (i * 255 / 63) as u8, (i / 2 * 255 / 31) as u8]).collect();
    assert_eq!(rgb(Other::Bmp, &bitmap((64, 1), 16, 3, &masks, &data)), expected);
}

#[test]
fn pixels_that_run_lengths_leave_out_have_the_first_colour() {
    let palette = [[1, 2, 3, 0], [40, 50, 60, 0], [7, 8, 9, 0]];
    let (zero, one, two) = ([3, 2, 1], [60, 50, 40], [9, 8, 7]);
    // Below: two pixels, one left out by the end of the row. Above: one left out by a jump, then two stored ones.
    let runs = [2, 1, 0, 0, 0, 2, 1, 0, 0, 3, 1, 2, 1, 0, 0, 0, 0, 1];
    let data = bitmap((4, 3), 8, 1, &palette, &runs);
    let expected = [[zero; 4], [zero, one, two, one], [one, one, zero, zero]].concat().concat();
    assert_eq!(rgb(Other::Bmp, &data), expected);
    // Four bits: runs of two alternating pixels, and a jump into the row above.
    let runs = [3, 0x12, 0, 2, 0, 1, 1, 0x20, 0, 1];
    let data = bitmap((4, 2), 4, 2, &palette, &runs);
    let expected = [[zero, zero, zero, two], [one, two, one, zero]].concat().concat();
    assert_eq!(rgb(Other::Bmp, &data), expected);
}

#[test]
fn run_lengths_that_make_no_sense_are_refused() {
    let refused = |runs: &[u8]| {
        let file = bitmap((4, 2), 8, 1, &[[0; 4]; 2], runs);
        let info = Other::Bmp.probe(&file).unwrap();
        let want =
            Want { region: Rect { x: 0, y: 0, width: 4, height: 2 }, shrink: 1, channels: Channels::Rgb };
        Other::Bmp.read(&file, &info, &want, &mut Scratch::new(), &mut Vec::new()).unwrap_err().to_string()
    };
    assert!(refused(&[2, 1]).contains("truncated"));
    assert!(refused(&[0, 2, 5, 0, 0, 1]).contains("leaves the picture"));
    assert!(refused(&[0, 2, 0, 2, 0, 1]).contains("leaves the picture"));
    assert!(refused(&[0, 5, 1, 1, 1, 1, 1, 0, 0, 1]).contains("leaves the picture"));
    assert!(refused(&[0, 3, 1]).contains("truncated"));
}
