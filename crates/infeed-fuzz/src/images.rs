//! Decoders of fields: images, arrays and the facts about them.

use crate::compare::MOST_PIXELS;
use infeed::decode::{CODECS, DECODERS};
use infeed_core::{Bytes, Channels, ImageInfo, Rect, Scratch, Value, Want, registry::find};

/// One image format by itself: a region must equal that part of the whole.
pub(crate) fn image(name: &str, data: &[u8]) {
    let Some(codec) = CODECS.iter().find(|codec| codec.name == name).map(|codec| codec.codec) else { return };
    if !codec.sniff(data) {
        return;
    }
    let Ok(info) = codec.probe(data) else { return };
    let ImageInfo { width, height, depth, channels, .. } = info;
    if width == 0 || height == 0 || u64::from(width) * u64::from(height) > MOST_PIXELS {
        return;
    }
    assert!(matches!(depth, 8 | 16) && (1..=4).contains(&channels), "{info:?}");
    let mut scratch = Scratch::new();
    for wanted in [Channels::Rgb, Channels::Gray, Channels::Stored] {
        let mut read = |region| {
            let mut out = Vec::new();
            let want = Want { region, shrink: 1, channels: wanted };
            let patch = codec.read(data, &info, &want, &mut scratch, &mut out).ok()?;
            let wide = depth == 16 && wanted == Channels::Stored;
            let pixel = usize::from(patch.channels) << u8::from(wide);
            assert_eq!(out.len(), patch.area.width as usize * patch.area.height as usize * pixel);
            // Codecs may give more than was asked for.
            let row = region.width as usize * pixel;
            let rows = (0..region.height).flat_map(|y| {
                let skipped = (region.y + y - patch.area.y) as usize * patch.area.width as usize;
                let start = (skipped + (region.x - patch.area.x) as usize) * pixel;
                out[start..start + row].to_vec()
            });
            Some((rows.collect::<Vec<u8>>(), pixel))
        };
        let Some((whole, pixel)) = read(Rect { x: 0, y: 0, width, height }) else { continue };
        let part = Rect {
            x: width / 3,
            y: height / 3,
            width: (width - width / 3).div_ceil(2),
            height: (height - height / 3).div_ceil(2),
        };
        let Some((got, _)) = read(part) else { panic!("a part cannot be read, the whole can") };
        let cut = (part.y..part.y + part.height).flat_map(|y| {
            let start = (y as usize * width as usize + part.x as usize) * pixel;
            whole[start..start + part.width as usize * pixel].iter().copied()
        });
        assert!(got.iter().copied().eq(cut), "a part of a {name} of {info:?} differs from the whole");
    }
}

/// A block of EXIF data, in the two files that hold it as it is.
pub(crate) fn exif(data: &[u8]) {
    let len = data.len().min(60_000);
    let mut jpeg = b"\xff\xd8\xff\xe1".to_vec();
    jpeg.extend(((len + 8) as u16).to_be_bytes());
    jpeg.extend(b"Exif\0\0");
    jpeg.extend(&data[..len]);
    jpeg.extend(b"\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xda\x00\x02");
    if let Ok(header) = infeed_jpeg::read_header(&jpeg) {
        assert!((1..=8).contains(&header.orientation));
    }
    let mut webp = b"RIFF\0\0\0\0WEBPEXIF".to_vec();
    webp.extend((len as u32).to_le_bytes());
    webp.extend(&data[..len]);
    image("webp", &webp);
}

/// The decoder of arrays, and the parser of their headers.
pub(crate) fn npy(data: &[u8]) {
    infeed_records::npy::fuzz_npy(data);
    let Ok(entry) = find(DECODERS, "npy", "decoder") else { return };
    let Ok(decoder) = entry.make(&serde_json::Map::new()) else { return };
    if let Ok(Value::Tensor(tensor)) = decoder.decode(&Bytes::copy_from_slice(data), &mut Scratch::new()) {
        let elements: usize = tensor.shape.iter().product();
        assert_eq!(tensor.data.len(), elements * tensor.dtype.size());
        assert!(tensor.data.len() <= data.len());
    }
}
