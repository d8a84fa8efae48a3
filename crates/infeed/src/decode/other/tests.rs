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
