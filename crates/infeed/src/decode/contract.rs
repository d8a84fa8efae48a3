//! The contract of image codecs, tested for every entry of the table.

use super::{
    CODECS, codec_of,
    pixels::luma,
    samples::{Random, all},
};
use infeed_core::{Channels, ImageCodec, ImageInfo, Patch, Rect, Scratch, Want};

const CHANNELS: [Channels; 3] = [Channels::Rgb, Channels::Gray, Channels::Stored];

fn read(codec: &dyn ImageCodec, bytes: &[u8], want: &Want, scratch: &mut Scratch) -> (Patch, Vec<u8>) {
    let info = codec.probe(bytes).unwrap();
    let mut into = vec![7; 5];
    let patch = codec.read(bytes, &info, want, scratch, &mut into).unwrap();
    (patch, into)
}

fn full(info: &ImageInfo, channels: Channels) -> Want {
    Want { region: Rect { x: 0, y: 0, width: info.width, height: info.height }, shrink: 1, channels }
}

/// Bytes per pixel that a read must return.
fn pixel(info: &ImageInfo, channels: Channels) -> usize {
    match channels {
        Channels::Rgb => 3,
        Channels::Gray => 1,
        Channels::Stored => usize::from(info.channels) * usize::from(info.depth / 8),
    }
}

fn cut(data: &[u8], width: u32, pixel: usize, area: Rect) -> Vec<u8> {
    data.chunks_exact(width as usize * pixel)
        .skip(area.y as usize)
        .take(area.height as usize)
        .flat_map(|row| &row[area.x as usize * pixel..][..area.width as usize * pixel])
        .copied()
        .collect()
}

#[test]
fn names_and_extensions_are_unique() {
    let mut seen: Vec<&str> = Vec::new();
    for codec in CODECS {
        assert!(!codec.about.is_empty() && !codec.extensions.is_empty(), "{}", codec.name);
        for extension in codec.extensions {
            assert!(!seen.contains(extension), "{extension}");
            seen.push(extension);
        }
    }
}

#[test]
fn a_format_is_known_by_its_bytes() {
    for (codec, sample) in all() {
        assert_eq!(codec_of(&sample.bytes).unwrap().name, codec.name, "{}", sample.name);
    }
}

#[test]
fn the_header_says_what_the_pixels_are() {
    let mut scratch = Scratch::new();
    for (codec, sample) in all() {
        let info = codec.codec.probe(&sample.bytes).unwrap();
        assert_eq!((info.width, info.height), sample.size, "{}", sample.name);
        assert_eq!(
            (info.channels, info.depth, info.orientation),
            (sample.channels, sample.depth, 1),
            "{}",
            sample.name
        );
        for channels in CHANNELS {
            let (patch, data) = read(codec.codec, &sample.bytes, &full(&info, channels), &mut scratch);
            assert_eq!(patch.area, full(&info, channels).region, "{}", sample.name);
            assert_eq!(
                (patch.shrink, usize::from(patch.channels)),
                (
                    1,
                    pixel(&info, channels)
                        / if channels == Channels::Stored { usize::from(info.depth / 8) } else { 1 }
                )
            );
            assert_eq!(
                data.len(),
                sample.size.0 as usize * sample.size.1 as usize * pixel(&info, channels),
                "{}",
                sample.name
            );
            if let (Channels::Stored, Some(stored)) = (channels, &sample.stored) {
                assert!(data == *stored, "{}", sample.name);
            }
        }
    }
}

#[test]
fn a_region_is_a_cut_of_the_whole() {
    let mut scratch = Scratch::new();
    let mut random = Random::new(5);
    for (codec, sample) in all() {
        let info = codec.codec.probe(&sample.bytes).unwrap();
        for channels in CHANNELS {
            let mut shrink = 1;
            while shrink <= info.shrinks {
                let (patch, data) =
                    read(codec.codec, &sample.bytes, &Want { shrink, ..full(&info, channels) }, &mut scratch);
                for _ in 0..40 {
                    let (width, height) = (1 + random.below(info.width), 1 + random.below(info.height));
                    let (x, y) =
                        (random.below(info.width - width + 1), random.below(info.height - height + 1));
                    let region = Rect { x, y, width, height };
                    let (part, pixels) =
                        read(codec.codec, &sample.bytes, &Want { region, shrink, channels }, &mut scratch);
                    assert_eq!(
                        (part.shrink, part.channels),
                        (patch.shrink, patch.channels),
                        "{}",
                        sample.name
                    );
                    assert!(
                        part.area.x * shrink <= x && part.area.y * shrink <= y,
                        "{} {region:?}",
                        sample.name
                    );
                    assert!(
                        (part.area.x + part.area.width) * shrink >= x + width,
                        "{} {region:?}",
                        sample.name
                    );
                    assert!(
                        (part.area.y + part.area.height) * shrink >= y + height,
                        "{} {region:?}",
                        sample.name
                    );
                    let expected = cut(&data, patch.area.width, pixel(&info, channels), part.area);
                    assert!(
                        pixels == expected,
                        "{}: {region:?} of shrink {shrink}, {channels:?}",
                        sample.name
                    );
                }
                shrink *= 2;
            }
        }
    }
}

#[test]
fn gray_is_the_luma_of_rgb() {
    let mut scratch = Scratch::new();
    for (codec, sample) in all() {
        let info = codec.codec.probe(&sample.bytes).unwrap();
        let (_, rgb) = read(codec.codec, &sample.bytes, &full(&info, Channels::Rgb), &mut scratch);
        let (_, gray) = read(codec.codec, &sample.bytes, &full(&info, Channels::Gray), &mut scratch);
        let off: Vec<u8> =
            rgb.chunks_exact(3).zip(&gray).map(|(p, g)| luma(p[0], p[1], p[2]).abs_diff(*g)).collect();
        // A JPEG's luma plane is not the luma of its RGB pixels: colours outside RGB are clipped in the conversion.
        let clipped = if codec.name == "jpeg" { off.iter().filter(|d| **d > 1).count() * 4 } else { 0 };
        assert!(clipped <= off.len(), "{}", sample.name);
        assert!(codec.name == "jpeg" || off.iter().all(|d| *d == 0), "{}", sample.name);
    }
}

#[test]
fn a_region_outside_is_refused() {
    let mut scratch = Scratch::new();
    for (codec, sample) in all() {
        let info = codec.codec.probe(&sample.bytes).unwrap();
        let (width, height) = sample.size;
        for region in [
            Rect { x: 1, y: 0, width, height },
            Rect { x: 0, y: u32::MAX, width: 1, height: 1 },
            Rect { x: 0, y: 0, width: 0, height: 1 },
        ] {
            let want = Want { region, shrink: 1, channels: Channels::Rgb };
            assert!(codec.codec.read(&sample.bytes, &info, &want, &mut scratch, &mut Vec::new()).is_err());
        }
    }
}

/// Reads the bytes in every way: it may fail, but not panic.
fn try_everything(codec: &dyn ImageCodec, bytes: &[u8], scratch: &mut Scratch) {
    let Ok(info) = codec.probe(bytes) else { return };
    if u64::from(info.width) * u64::from(info.height) > 1 << 20 || info.width == 0 || info.height == 0 {
        return;
    }
    for channels in CHANNELS {
        let want = full(&info, channels);
        let _ = codec.read(bytes, &info, &want, scratch, &mut Vec::new());
        let region = Rect { x: info.width / 2, y: info.height / 2, width: 1, height: 1 };
        let _ = codec.read(bytes, &info, &Want { region, ..want }, scratch, &mut Vec::new());
    }
}

#[test]
fn truncated_files_fail_in_plain_words() {
    let mut scratch = Scratch::new();
    for (codec, sample) in all() {
        for len in (0..sample.bytes.len()).step_by(1 + sample.bytes.len() / 150) {
            try_everything(codec.codec, &sample.bytes[..len], &mut scratch);
        }
        // Half a file must fail for all of them.
        let half = &sample.bytes[..sample.bytes.len() / 2];
        let failed = codec.codec.probe(half).and_then(|info| {
            codec.codec.read(half, &info, &full(&info, Channels::Rgb), &mut scratch, &mut Vec::new())
        });
        let message = failed.expect_err(&sample.name).to_string();
        assert!(message.contains("truncated") || message.contains("orrupt"), "{}: {message}", sample.name);
    }
}

#[test]
fn damaged_files_never_panic() {
    let mut scratch = Scratch::new();
    let mut random = Random::new(11);
    for (codec, sample) in all() {
        for _ in 0..150 {
            let mut bytes = sample.bytes.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u32) as usize;
                // Headers are the most interesting part to damage.
                let at = if random.below(2) == 0 { at.min(at % 64) } else { at };
                bytes[at] = random.below(256) as u8;
            }
            try_everything(codec.codec, &bytes, &mut scratch);
        }
    }
}

#[test]
fn noise_never_panics() {
    let mut scratch = Scratch::new();
    let mut random = Random::new(13);
    for (codec, sample) in all() {
        for _ in 0..100 {
            let keep = random.below(40) as usize;
            let mut bytes = sample.bytes[..keep.min(sample.bytes.len())].to_vec();
            bytes.extend((0..random.below(300)).map(|_| random.below(256) as u8));
            try_everything(codec.codec, &bytes, &mut scratch);
        }
    }
}

#[test]
fn a_whole_image_read_in_place_equals_the_patch() {
    let mut scratch = Scratch::new();
    let mut straight = 0;
    for (codec, sample) in all() {
        let info = codec.codec.probe(&sample.bytes).unwrap();
        for channels in CHANNELS {
            let (_, data) = read(codec.codec, &sample.bytes, &full(&info, channels), &mut scratch);
            let mut out = vec![7; data.len()];
            if codec.codec.read_whole(&sample.bytes, &info, channels, &mut scratch, &mut out).unwrap() {
                assert_eq!(out, data, "{}", sample.name);
                straight += 1;
            } else {
                assert!(out.iter().all(|b| *b == 7), "{} was written to", sample.name);
            }
        }
    }
    assert!(straight > 0, "no codec reads in place");
}
