//! Tests specific to WebP. The rest is in the contract suite.

use super::super::samples::{self, chunk, picture};
use super::*;

/// The same file, extended by an EXIF block.
pub(in super::super) fn with_exif(webp: &[u8], orientation: u8) -> Vec<u8> {
    let info = ffi::features(webp).unwrap();
    let (w, h) = ((info.width - 1).to_le_bytes(), (info.height - 1).to_le_bytes());
    const EXIF_AND_ALPHA: u8 = 0x18;
    let stream = webp.windows(4).position(|w| w == b"VP8L").unwrap();
    let mut body = b"WEBP".to_vec();
    body.extend(chunk(b"VP8X", &[EXIF_AND_ALPHA, 0, 0, 0, w[0], w[1], w[2], h[0], h[1], h[2]]));
    body.extend(&webp[stream..]);
    body.extend(chunk(b"EXIF", &samples::exif(orientation)));
    chunk(b"RIFF", &body)
}

#[test]
fn an_animation_shows_its_first_frame_on_its_canvas() {
    let sample = &samples::of("webp")[5];
    assert!(ffi::features(&sample.bytes).unwrap().animated);
    let info = WebP.probe(&sample.bytes).unwrap();
    let want = |x, y, width, height| Want {
        region: Rect { x, y, width, height },
        shrink: 1,
        channels: Channels::Stored,
    };
    let mut out = Vec::new();
    let mut scratch = Scratch::new();
    WebP.read(&sample.bytes, &info, &want(10, 8, 20, 16), &mut scratch, &mut out).unwrap();
    assert_eq!(out, picture(20, 16, 4));
    // Outside the frame the canvas is transparent black.
    WebP.read(&sample.bytes, &info, &want(0, 0, 40, 8), &mut scratch, &mut out).unwrap();
    assert!(out.iter().all(|b| *b == 0));
}

#[test]
fn a_crop_begins_at_even_places_and_stays_inside() {
    let features = Features { width: 71, height: 90, alpha: false, animated: false, lossless: false };
    let rect = |x, y, width, height| Rect { x, y, width, height };
    assert_eq!(widened(rect(0, 0, 71, 90), &features), rect(0, 0, 71, 90));
    assert_eq!(widened(rect(5, 1, 1, 1), &features), rect(2, 0, 6, 4));
    assert_eq!(widened(rect(70, 89, 1, 1), &features), rect(68, 86, 3, 4));
}

#[test]
fn a_broken_animation_is_an_error() {
    let bytes = &samples::of("webp")[5].bytes;
    let info = WebP.probe(bytes).unwrap();
    let want = Want { region: Rect { x: 0, y: 0, width: 1, height: 1 }, shrink: 1, channels: Channels::Rgb };
    let error = WebP.read(&bytes[..100], &info, &want, &mut Scratch::new(), &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("WebP"), "{error}");
}
