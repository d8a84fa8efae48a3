//! Truncated, damaged and inconsistent files: an error that says so, never a panic.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Image, KINDS, Random, chunk, decode};
use infeed_png::{Decoder, Error, Output, read_header};

#[test]
fn cut_at_every_byte() {
    let mut random = Random(1);
    for idats in [1, 3] {
        let mut image = Image::new(6, 5, (3, 4));
        image.idats = idats;
        let bytes = image.encode(&mut random);
        let whole = decode(&bytes, Output::Rgb).unwrap();
        for n in 0..bytes.len() {
            match decode(&bytes[..n], Output::Rgb) {
                // IEND is 12 bytes: without it the pixels are still all there.
                Ok(pixels) => assert!(n >= bytes.len() - 12 && pixels == whole, "cut at {n}"),
                Err(Error::NotPng) => assert_eq!(n, 0),
                Err(error) => assert!(matches!(error, Error::Truncated), "cut at {n}: {error}"),
            }
        }
    }
}

#[test]
fn flipped_bytes_never_panic_and_never_pass_for_pixels() {
    let mut random = Random(2);
    for round in 0..300 {
        let mut image = Image::new(1 + random.below(20), 1 + random.below(20), KINDS[round % KINDS.len()]);
        image.interlaced = random.below(2) == 0;
        let bytes = image.encode(&mut random);
        let whole = decode(&bytes, Output::AsStored).unwrap();
        for _ in 0..60 {
            let mut bad = bytes.clone();
            let at = random.below(bad.len());
            bad[at] ^= 1 << random.below(8);
            if let Ok(pixels) = decode(&bad, Output::AsStored) {
                assert!(at >= bytes.len() - 12 && pixels == whole, "round {round}, byte {at}");
            }
        }
    }
}

/// With checksums recomputed, the damage reaches the parsers behind them.
#[test]
fn flipped_bytes_with_right_checksums_never_panic() {
    let mut random = Random(3);
    for round in 0..400 {
        let mut image = Image::new(1 + random.below(20), 1 + random.below(20), KINDS[round % KINDS.len()]);
        image.interlaced = random.below(2) == 0;
        image.extra.push((*b"tRNS", random.bytes([1, 2, 6, 20, 300][round % 5])));
        let mut bytes = image.encode(&mut random);
        for _ in 0..30 {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
            let bad = mend(&bytes);
            // Sizes from the damaged header may be enormous; only ask for what fits.
            if let Ok(header) = read_header(&bad)
                && u64::from(header.width) * u64::from(header.height) < 1 << 20
            {
                for output in [Output::Rgb, Output::Gray, Output::Rgba, Output::AsStored] {
                    let _ = decode(&bad, output);
                }
            }
        }
    }
}

/// Recomputes the CRC of every chunk that can still be found.
fn mend(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 8;
    while at + 12 <= out.len() {
        let len = u32::from_be_bytes([out[at], out[at + 1], out[at + 2], out[at + 3]]) as usize;
        let Some(end) = at.checked_add(8 + len).filter(|end| end + 4 <= out.len()) else { break };
        let crc = common::crc32(&out[at + 4..end]);
        out[end..end + 4].copy_from_slice(&crc.to_be_bytes());
        at = end + 4;
    }
    out
}

/// Random streams with correct checksums: wrong filter types and sizes of all kinds.
#[test]
fn random_streams_never_panic() {
    let mut random = Random(4);
    for round in 0..2000 {
        let mut image = Image::new(1 + random.below(9), 1 + random.below(9), KINDS[round % KINDS.len()]);
        image.interlaced = random.below(2) == 0;
        let mut stream = image.stream(&mut random);
        match round % 3 {
            0 => stream.truncate(random.below(stream.len())),
            1 => stream.extend(vec![0; 1 + random.below(2000)]),
            _ => stream[0] = 5 + random.below(251) as u8,
        }
        let error = decode(&image.wrap(&stream), Output::Rgba).unwrap_err();
        assert!(matches!(error, Error::Corrupt(_)), "{error}");
    }
}

fn message(bytes: &[u8]) -> String {
    decode(bytes, Output::Rgb).unwrap_err().to_string()
}

#[test]
fn errors_name_what_is_wrong() {
    let mut random = Random(5);
    let image = Image::new(4, 4, (2, 8));
    let good = image.encode(&mut random);
    let idat = good.windows(4).position(|w| w == b"IDAT").unwrap();
    let patched = |at: usize, byte: u8| {
        let mut bad = good.clone();
        bad[at] = byte;
        bad
    };

    assert!(message(b"GIF89a..........").contains("signature"));
    assert!(message(&patched(idat + 9, !good[idat + 9])).contains("CRC of chunk IDAT"));
    assert!(message(&patched(20, 1)).contains("CRC of chunk IHDR"));
    assert!(message(&mend(&patched(19, 0))).contains("impossible size 0x4"));
    assert!(message(&mend(&patched(20, 0x80))).contains("impossible size"));
    assert!(message(&mend(&patched(24, 3))).contains("3 bits per sample"));
    assert!(message(&mend(&patched(28, 2))).contains("interlace 2"));
    assert!(message(&patched(idat - 4, 0xFF)).contains("chunk IDAT claims"));
    assert!(message(&mend(&patched(23, 3))).contains("more than the 39 bytes"));
    assert!(message(&mend(&patched(23, 9))).contains("52 bytes of pixels instead of 117"));

    let mut image = Image::new(4, 4, (3, 8));
    image.extra.clear();
    assert!(message(&image.encode(&mut random)).contains("PLTE of 0 bytes"));
    image.extra = vec![(*b"ABCD", vec![])];
    assert!(message(&image.encode(&mut random)).contains("unknown critical chunk ABCD"));

    let mut empty = good[..33].to_vec();
    chunk(&mut empty, b"IEND", &[]);
    assert!(message(&empty).contains("IEND without IDAT"));
}

/// A few bytes that claim to be gigabytes are refused before any memory is allocated.
#[test]
fn a_lying_size_costs_nothing() {
    let mut image = Image::new(1 << 30, 1 << 30, (6, 16));
    let bytes = image.wrap_compressed(&[0x78, 0x9C, 3, 0, 0, 0, 0, 1]);
    let header = read_header(&bytes).unwrap();
    let error = Decoder::new().decode(&bytes, &header, Output::Rgb, &mut [], 3 << 30).unwrap_err();
    assert!(matches!(error, Error::BadRequest(_)), "{error}");

    (image.width, image.height) = (4000, 4000);
    let bytes = image.wrap_compressed(&[0x78, 0x9C, 3, 0, 0, 0, 0, 1]);
    assert!(matches!(decode(&bytes, Output::Gray), Err(Error::Corrupt(_))));
}

#[test]
fn the_callers_mistakes_are_the_callers() {
    let mut random = Random(6);
    let bytes = Image::new(4, 4, (2, 8)).encode(&mut random);
    let other = read_header(&Image::new(4, 5, (2, 8)).encode(&mut random)).unwrap();
    let header = read_header(&bytes).unwrap();
    let mut decoder = Decoder::new();
    let mut ask = |header, len: usize, stride| {
        let mut out = vec![0; len];
        decoder.decode(&bytes, header, Output::Rgb, &mut out, stride)
    };
    assert!(matches!(ask(&other, 60, 12), Err(Error::BadRequest(_))));
    assert!(matches!(ask(&header, 47, 12), Err(Error::BadRequest(_))));
    assert!(matches!(ask(&header, 48, 11), Err(Error::BadRequest(_))));
    assert!(matches!(ask(&header, 48, usize::MAX), Err(Error::BadRequest(_))));
    // The last row need not be followed by a gap.
    assert_eq!(ask(&header, 3 * 20 + 12, 20), Ok(()));
}
