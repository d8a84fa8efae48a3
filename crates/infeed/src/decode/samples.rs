//! Small images of every format, most of them generated at test time.

use super::CODECS;
use image::{ColorType, ExtendedColorType, ImageFormat};
use libwebp_sys as sys;

/// A small deterministic generator (xorshift), so that failures are reproducible.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % u64::from(limit)) as u32
    }
}

/// An encoded image and its known properties.
pub(super) struct Sample {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) size: (u32, u32),
    pub(super) channels: u8,
    pub(super) depth: u8,
    /// The expected pixels as stored, if the format is lossless.
    pub(super) stored: Option<Vec<u8>>,
}

/// Smooth colour with edges and noise.
pub(super) fn picture(width: u32, height: u32, channels: u32) -> Vec<u8> {
    let mut random = Random::new(u64::from(width * 31 + height));
    let mut out = Vec::new();
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let edge = if (x / 13 + y / 11) % 2 == 0 { 0 } else { 60 };
                out.push(((x * (3 + c) + y * (7 - c) + edge + 40 * c + random.below(20)) % 256) as u8);
            }
        }
    }
    out
}

/// Samples of one format.
pub(super) fn of(codec: &str) -> Vec<Sample> {
    let made = |name: &str, bytes, size, channels, depth, stored| Sample {
        name: format!("{codec} {name}"),
        bytes,
        size,
        channels,
        depth,
        stored,
    };
    let encoded = |name: &str, format, color: ColorType, size: (u32, u32)| {
        let wide = color.bytes_per_pixel() > color.channel_count();
        let data = picture(size.0, size.1, u32::from(color.bytes_per_pixel()));
        let bytes = encode(format, color.into(), size, &data);
        let (channels, stored) = match color {
            // Gray with alpha is decoded as RGBA.
            ColorType::La8 => (4, data.chunks(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()),
            _ => (color.channel_count(), data),
        };
        made(name, bytes, size, channels, if wide { 16 } else { 8 }, Some(stored))
    };
    match codec {
        "jpeg" => vec![
            made("colour", include_bytes!("jpeg/golden/color.jpg").to_vec(), (61, 47), 3, 8, None),
            made("gray", include_bytes!("jpeg/golden/gray.jpg").to_vec(), (45, 30), 1, 8, None),
            made("progressive", include_bytes!("jpeg/golden/progressive.jpg").to_vec(), (40, 33), 3, 8, None),
            made("cmyk", include_bytes!("jpeg/golden/cmyk.jpg").to_vec(), (24, 17), 3, 8, None),
        ],
        "png" => vec![
            encoded("gray", ImageFormat::Png, ColorType::L8, (33, 21)),
            encoded("gray and alpha", ImageFormat::Png, ColorType::La8, (19, 40)),
            encoded("rgb", ImageFormat::Png, ColorType::Rgb8, (37, 23)),
            encoded("rgba", ImageFormat::Png, ColorType::Rgba8, (16, 16)),
            encoded("gray 16", ImageFormat::Png, ColorType::L16, (12, 15)),
            encoded("rgba 16", ImageFormat::Png, ColorType::Rgba16, (31, 9)),
            encoded("one pixel", ImageFormat::Png, ColorType::Rgb8, (1, 1)),
        ],
        "webp" => {
            let lossless = |name: &str, size: (u32, u32), channels: u8| {
                let data = picture(size.0, size.1, channels.into());
                made(name, webp(&data, size, channels, None), size, channels, 8, Some(data))
            };
            let lossy = |name: &str, size: (u32, u32), channels: u8, filter| {
                let data = picture(size.0, size.1, channels.into());
                made(name, webp(&data, size, channels, Some(filter)), size, channels, 8, None)
            };
            vec![
                lossless("lossless", (37, 23), 3),
                lossless("lossless with alpha", (20, 31), 4),
                lossy("lossy, simple filter", (71, 90), 3, 0),
                lossy("lossy, strong filter", (90, 71), 3, 1),
                lossy("lossy with alpha", (33, 34), 4, 1),
                made("animated", animated_webp(), (40, 30), 4, 8, None),
            ]
        }
        "tiff" => vec![
            encoded("gray", ImageFormat::Tiff, ColorType::L8, (33, 21)),
            encoded("rgb", ImageFormat::Tiff, ColorType::Rgb8, (37, 23)),
            encoded("rgba", ImageFormat::Tiff, ColorType::Rgba8, (17, 23)),
            encoded("gray 16", ImageFormat::Tiff, ColorType::L16, (12, 15)),
            encoded("rgb 16", ImageFormat::Tiff, ColorType::Rgb16, (12, 15)),
        ],
        "bmp" => vec![
            encoded("rgb", ImageFormat::Bmp, ColorType::Rgb8, (37, 23)),
            encoded("rgba", ImageFormat::Bmp, ColorType::Rgba8, (17, 23)),
        ],
        "gif" => {
            // More colours would be quantised.
            let data: Vec<u8> = (0..30 * 20u8 as u32)
                .flat_map(|i| [(i % 7 * 30) as u8, (i % 5 * 40) as u8, (i % 3 * 90) as u8, 255])
                .collect();
            vec![made(
                "rgba",
                encode(ImageFormat::Gif, ExtendedColorType::Rgba8, (30, 20), &data),
                (30, 20),
                4,
                8,
                Some(data),
            )]
        }
        "pnm" => {
            let gray = picture(9, 5, 1);
            let text: Vec<String> = gray.iter().map(u8::to_string).collect();
            vec![
                encoded("ppm", ImageFormat::Pnm, ColorType::Rgb8, (37, 23)),
                encoded("pgm", ImageFormat::Pnm, ColorType::L8, (37, 23)),
                made("gray and alpha", GRAY_ALPHA.to_vec(), (2, 1), 4, 8, Some(vec![1, 1, 1, 2, 3, 3, 3, 4])),
                made(
                    "text",
                    format!("P2\n# a comment\n9 5\n255\n{}\n", text.join(" ")).into(),
                    (9, 5),
                    1,
                    8,
                    Some(gray),
                ),
            ]
        }
        other => unreachable!("no samples of {other}: every codec needs some"),
    }
}

const GRAY_ALPHA: &[u8] =
    b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\x01\x02\x03\x04";

/// Every sample of every format.
pub(super) fn all() -> impl Iterator<Item = (&'static super::Codec, Sample)> {
    CODECS.iter().flat_map(|codec| of(codec.name).into_iter().map(move |sample| (codec, sample)))
}

fn encode(format: ImageFormat, color: ExtendedColorType, size: (u32, u32), data: &[u8]) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image::write_buffer_with_format(&mut out, data, size.0, size.1, color, format).unwrap();
    out.into_inner()
}

/// Encodes with libwebp: lossless, or lossy with the given kind of loop filter.
pub(super) fn webp(data: &[u8], size: (u32, u32), channels: u8, filter: Option<i32>) -> Vec<u8> {
    let mut config = sys::WebPConfig::new().unwrap();
    match filter {
        None => (config.lossless, config.exact) = (1, 1),
        Some(kind) => (config.quality, config.filter_type, config.filter_strength) = (60.0, kind, 80),
    }
    let mut picture = sys::WebPPicture::new().unwrap();
    (picture.width, picture.height) = (size.0 as i32, size.1 as i32);
    picture.use_argb = config.lossless;
    // SAFETY: there are as many pixels as the size says; the writer and the picture are used as libwebp's manual says,
    // and freed once.
    unsafe {
        let mut writer = std::mem::MaybeUninit::<sys::WebPMemoryWriter>::zeroed();
        sys::WebPMemoryWriterInit(writer.as_mut_ptr());
        let mut writer = writer.assume_init();
        picture.writer = Some(sys::WebPMemoryWrite);
        picture.custom_ptr = (&raw mut writer).cast();
        let stride = (size.0 * u32::from(channels)) as i32;
        let done = if channels == 4 {
            sys::WebPPictureImportRGBA(&mut picture, data.as_ptr(), stride)
        } else {
            sys::WebPPictureImportRGB(&mut picture, data.as_ptr(), stride)
        };
        assert_ne!(done, 0);
        assert_ne!(sys::WebPEncode(&config, &mut picture), 0);
        let out = std::slice::from_raw_parts(writer.mem, writer.size).to_vec();
        sys::WebPPictureFree(&mut picture);
        sys::WebPMemoryWriterClear(&mut writer);
        out
    }
}

/// Two lossless frames of 20x16 at (10, 8) and (0, 0) on a canvas of 40x30.
fn animated_webp() -> Vec<u8> {
    let frame = webp(&picture(20, 16, 4), (20, 16), 4, None);
    // The encoder may have written an extended file: the bitstream is the chunk named VP8L.
    let at = frame.windows(4).position(|w| w == b"VP8L").unwrap();
    let stream = &frame[at..];
    let anmf = |x: u8, y: u8| {
        let mut data = vec![x / 2, 0, 0, y / 2, 0, 0, 19, 0, 0, 15, 0, 0, 50, 0, 0, 0];
        data.extend_from_slice(stream);
        chunk(b"ANMF", &data)
    };
    const ALPHA_AND_ANIMATION: u8 = 0x12;
    let mut body = b"WEBP".to_vec();
    body.extend(chunk(b"VP8X", &[ALPHA_AND_ANIMATION, 0, 0, 0, 39, 0, 0, 29, 0, 0]));
    body.extend(chunk(b"ANIM", &[0; 6]));
    body.extend(anmf(10, 8));
    body.extend(anmf(0, 0));
    chunk(b"RIFF", &body)
}

/// One RIFF chunk.
pub(super) fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut out = name.to_vec();
    out.extend((data.len() as u32).to_le_bytes());
    out.extend(data);
    out.extend(vec![0; data.len() % 2]);
    out
}

/// An EXIF block that only has an orientation.
pub(super) fn exif(orientation: u8) -> Vec<u8> {
    let mut out = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    out.extend([orientation, 0, 0, 0, 0, 0, 0]);
    out
}
