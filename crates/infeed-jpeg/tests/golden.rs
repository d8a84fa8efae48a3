//! Whole images at every scale, against what Pillow makes of the same files (`golden/make.py`).
#![allow(clippy::unwrap_used)]

use infeed_jpeg::{Color, Decoder, Error, Output, Region, Request, Scale, read_header};
use std::path::PathBuf;

fn golden(name: &str) -> Vec<u8> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "golden", name].iter().collect();
    std::fs::read(path).unwrap()
}

fn decode(bytes: &[u8], scale: Scale) -> Result<Vec<u8>, Error> {
    let header = read_header(bytes)?;
    let output = if header.color == Color::Gray { Output::Gray } else { Output::Rgb };
    let region = Region::whole(&header, scale);
    let stride = region.width as usize * output.channels();
    let mut pixels = vec![0; stride * region.height as usize];
    Decoder::new()?.decode(bytes, &header, &Request { scale, region, output }, &mut pixels, stride)?;
    Ok(pixels)
}

const SCALES: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

fn compare(name: &str, scales: &[Scale]) {
    let bytes = golden(&format!("{name}.jpg"));
    for scale in scales {
        let expected = golden(&format!("{name}.{}", scale.denominator()));
        let decoded = decode(&bytes, *scale).unwrap();
        assert!(decoded == expected, "{name} at 1/{}", scale.denominator());
    }
}

#[test]
fn pixels_are_those_of_pillow() {
    for kind in ["s444", "s422", "s420", "restarts", "gray"] {
        compare(&format!("{kind}-small"), &SCALES[..2]);
    }
}

#[test]
fn scaled_pixels_are_those_of_pillow() {
    for kind in ["s444", "s420", "gray"] {
        compare(&format!("{kind}-large"), &SCALES[1..]);
    }
    compare("s422-large", &SCALES[1..3]);
}

#[test]
fn what_is_not_common_is_decoded_or_refused_in_words() {
    for (name, scale) in [("progressive-small", Scale::Full), ("s422-large", Scale::Eighth)] {
        let decoded = decode(&golden(&format!("{name}.jpg")), scale);
        if cfg!(infeed_portable) {
            let error = decoded.unwrap_err().to_string();
            assert!(error.contains("this build has no libjpeg-turbo"), "{error}");
        } else {
            assert!(decoded.unwrap() == golden(&format!("{name}.{}", scale.denominator())), "{name}");
        }
    }
}

/// Damage is an error or pixels, never a panic, whatever decodes.
#[test]
fn damage_is_survived() {
    let bytes = golden("s420-small.jpg");
    for at in (0..bytes.len()).step_by(3) {
        let _ = decode(&bytes[..at], Scale::Full);
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        // The size may have become enormous; only what fits is asked for.
        if read_header(&damaged).is_ok_and(|h| h.width * h.height < 1 << 16) {
            SCALES.iter().for_each(|scale| drop(decode(&damaged, *scale)));
        }
    }
}
