//! Random images of every kind against the `png` crate.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Filter, Image, KINDS, Random};
use infeed_png::Output;

/// The `png` crate's pixels, in its expanded form: 8 bits or big-endian 16, palettes as RGB.
fn oracle(bytes: &[u8]) -> (png::ColorType, png::BitDepth, Vec<u8>) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    // Our own keys and alphas are compared with Pillow, so only the expansion matters here.
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut out = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut out).unwrap();
    out.truncate(info.buffer_size());
    (info.color_type, info.bit_depth, out)
}

fn compare(bytes: &[u8], what: &str) {
    let (color, depth, mut want) = oracle(bytes);
    if depth == png::BitDepth::Sixteen {
        for sample in want.chunks_exact_mut(2) {
            let native = u16::from_be_bytes([sample[0], sample[1]]).to_ne_bytes();
            sample.copy_from_slice(&native);
        }
    }
    assert!(common::decode(bytes, Output::AsStored).unwrap() == want, "{what}, as stored");

    // The other outputs, computed from the oracle's stored pixels in the simplest way.
    let samples: Vec<u8> = if depth == png::BitDepth::Sixteen {
        want.chunks_exact(2).map(|s| (u16::from_ne_bytes([s[0], s[1]]) >> 8) as u8).collect()
    } else {
        want
    };
    let rgba: Vec<[u8; 4]> = samples
        .chunks_exact(color.samples())
        .map(|p| match *p {
            [v] => [v, v, v, 255],
            [v, a] => [v, v, v, a],
            [r, g, b] => [r, g, b, 255],
            [r, g, b, a] => [r, g, b, a],
            _ => unreachable!(),
        })
        .collect();
    assert!(common::decode(bytes, Output::Rgba).unwrap() == rgba.concat(), "{what}, as RGBA");
    let rgb: Vec<u8> = rgba.iter().flat_map(|p| p[..3].to_vec()).collect();
    assert!(common::decode(bytes, Output::Rgb).unwrap() == rgb, "{what}, as RGB");
    let luma = |p: &[u8; 4]| {
        ((u32::from(p[0]) * 19595 + u32::from(p[1]) * 38470 + u32::from(p[2]) * 7471 + 0x8000) >> 16) as u8
    };
    let gray: Vec<u8> = rgba.iter().map(luma).collect();
    assert!(common::decode(bytes, Output::Gray).unwrap() == gray, "{what}, as gray");
}

#[test]
fn every_kind_with_every_filter() {
    let mut random = Random(1);
    for kind in KINDS {
        for filter in 0..6 {
            for (width, height) in [(1, 1), (2, 3), (5, 4), (8, 8), (17, 9), (33, 12)] {
                let mut image = Image::new(width, height, kind);
                image.filter = if filter < 5 { Filter::Always(filter) } else { Filter::Random };
                let what = format!("{kind:?}, filter {filter}, {width}x{height}");
                compare(&image.encode(&mut random), &what);
            }
        }
    }
}

#[test]
fn every_kind_interlaced() {
    let mut random = Random(2);
    for kind in KINDS {
        for width in 1..=10 {
            for height in 1..=10 {
                let mut image = Image::new(width, height, kind);
                image.interlaced = true;
                compare(&image.encode(&mut random), &format!("{kind:?}, interlaced {width}x{height}"));
            }
        }
        let mut image = Image::new(61, 43, kind);
        image.interlaced = true;
        compare(&image.encode(&mut random), &format!("{kind:?}, interlaced 61x43"));
    }
}

#[test]
fn many_chunks_and_palette_alpha() {
    let mut random = Random(3);
    for idats in [2, 3, 50, 100_000] {
        let mut image = Image::new(40, 30, (2, 8));
        image.idats = idats;
        compare(&image.encode(&mut random), &format!("{idats} IDAT chunks"));
    }
    for depth in [1, 2, 4, 8] {
        let mut image = Image::new(23, 5, (3, depth));
        image.extra.push((*b"tRNS", vec![7, 200]));
        let bytes = image.encode(&mut random);
        let header = infeed_png::read_header(&bytes).unwrap();
        assert_eq!(header.color, infeed_png::Color::Palette { has_alpha: true });
        compare_alpha(&bytes);
    }
}

fn compare_alpha(bytes: &[u8]) {
    let (color, _, want) = oracle(bytes);
    assert_eq!(color, png::ColorType::Rgba);
    assert!(common::decode(bytes, Output::AsStored).unwrap() == want);
    assert!(common::decode(bytes, Output::Rgba).unwrap() == want);
}

#[test]
fn one_decoder_for_all_and_strides_left_alone() {
    let mut random = Random(4);
    let mut decoder = infeed_png::Decoder::new();
    for round in 0..400 {
        let (width, height) = (1 + random.below(70), 1 + random.below(40));
        let mut image = Image::new(width, height, KINDS[random.below(KINDS.len())]);
        image.interlaced = random.below(3) == 0;
        image.idats = 1 + random.below(3);
        let bytes = image.encode(&mut random);
        let header = infeed_png::read_header(&bytes).unwrap();
        let stride = width * 3 + random.below(20);
        let mut out = vec![0xA5; stride * height];
        decoder.decode(&bytes, &header, Output::Rgb, &mut out, stride).unwrap();
        let want = common::decode(&bytes, Output::Rgb).unwrap();
        for (got, want) in out.chunks_exact(stride).zip(want.chunks_exact(width * 3)) {
            assert!(&got[..width * 3] == want, "round {round}");
            assert!(got[width * 3..].iter().all(|b| *b == 0xA5), "round {round}");
        }
    }
}

/// The one kind where Pillow is not followed: it clips at 255.
#[test]
fn gray16_keeps_the_high_byte_and_compares_the_whole_key() {
    let mut image = Image::new(4, 1, (0, 16));
    image.extra.push((*b"tRNS", vec![0x12, 0x34]));
    let bytes = image.wrap(&[0, 0x12, 0x34, 0x12, 0x35, 0xFF, 0x34, 0x00, 0x34]);
    assert!(infeed_png::read_header(&bytes).unwrap().color_key);
    assert_eq!(common::decode(&bytes, Output::Gray).unwrap(), [0x12, 0x12, 0xFF, 0]);
    let rgba = common::decode(&bytes, Output::Rgba).unwrap();
    assert_eq!(rgba, [[0x12, 0x12, 0x12, 0], [0x12, 0x12, 0x12, 255], [255; 4], [0, 0, 0, 255]].concat());
    let stored: Vec<u8> =
        [0x1234u16, 0x1235, 0xFF34, 0x0034].into_iter().flat_map(u16::to_ne_bytes).collect();
    assert_eq!(common::decode(&bytes, Output::AsStored).unwrap(), stored);
}

/// Indices are the samples of the file: what the `png` crate gives without any transformation, unpacked.
#[test]
fn indices_are_the_samples_as_they_are_stored() {
    use png::{BitDepth, ColorType};
    for (color, depth) in [
        (ColorType::Indexed, BitDepth::One),
        (ColorType::Indexed, BitDepth::Four),
        (ColorType::Indexed, BitDepth::Eight),
        (ColorType::Grayscale, BitDepth::One),
        (ColorType::Grayscale, BitDepth::Two),
        (ColorType::Grayscale, BitDepth::Four),
        (ColorType::Grayscale, BitDepth::Eight),
    ] {
        let (width, height, bits) = (13usize, 7usize, depth as usize);
        let row = (width * bits).div_ceil(8);
        let data: Vec<u8> = (0..row * height).map(|i| (i * 37 % 251) as u8).collect();
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette((0..3 << bits).map(|i| (i * 7) as u8).collect::<Vec<u8>>());
        }
        encoder.write_header().unwrap().write_image_data(&data).unwrap();
        let sample = |y: usize, x: usize| {
            let at = x * bits;
            data[y * row + at / 8] >> (8 - bits - at % 8) & (u16::MAX >> (16 - bits)) as u8
        };
        let want: Vec<u8> =
            (0..height).flat_map(|y| (0..width).map(move |x| (y, x))).map(|(y, x)| sample(y, x)).collect();
        assert_eq!(common::decode(&bytes, Output::Index).unwrap(), want, "{color:?} {depth:?}");
    }
}

#[test]
fn only_single_samples_have_indices() {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(&[1, 2, 3]).unwrap();
    assert!(common::decode(&bytes, Output::Index).is_err());
}
