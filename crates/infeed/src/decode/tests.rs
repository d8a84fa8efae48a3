//! The decoders as users use them: by name, with arguments.

use super::{CODECS, DECODERS, samples};
use infeed_core::{
    Bytes, Decoder, Dim, Dtype, Error, FieldSpec, Image, PixelLayout, Scratch, Value, registry::find,
};

/// A decoder by its name, with arguments as JSON.
pub(super) fn decoder(name: &str, args: &str) -> Box<dyn Decoder> {
    find(DECODERS, name, "decoder").unwrap().make(&serde_json::from_str(args).unwrap()).unwrap()
}

/// Decodes or fails with a message.
pub(super) fn decode(name: &str, args: &str, bytes: &[u8]) -> Result<Value, String> {
    decoder(name, args)
        .decode(&Bytes::copy_from_slice(bytes), &mut Scratch::new())
        .map_err(|e: Error| e.to_string())
}

/// Decodes an image and renders it unchanged.
fn render(name: &str, args: &str, bytes: &[u8]) -> (u32, u32, u8, Vec<u8>) {
    let Ok(Value::Image(image)) = decode(name, args, bytes) else { panic!("not an image") };
    let image: &Image = &image;
    assert_eq!(image.finish.layout, PixelLayout::Hwc);
    let mut out = vec![0; image.bytes()];
    image.render(&mut Scratch::new(), &mut out).unwrap();
    (image.width(), image.height(), image.channels(), out)
}

#[test]
fn names_are_those_of_the_docs() {
    let names: Vec<&str> = DECODERS.iter().map(|e| e.name).collect();
    let pictures = ["rgb", "gray", "stored", "mask", "boxes", "keypoints"];
    assert_eq!(
        names,
        [&pictures[..], &["int", "float", "text", "json", "npy", "instance_masks", "bytes"]].concat()
    );
    for entry in DECODERS {
        entry.make(&serde_json::Map::new()).unwrap();
    }
}

#[test]
fn what_is_decoded_is_not_decoded_again() {
    // These take numbers of any kind of field.
    let numbers = ["boxes", "keypoints"];
    for entry in DECODERS.iter().filter(|e| !numbers.contains(&e.name)) {
        let decoder = entry.make(&serde_json::Map::new()).unwrap();
        assert!(decoder.spec(&FieldSpec::encoded()).is_ok());
        for spec in [FieldSpec::text(), FieldSpec::image(Dim::Fixed(3)), FieldSpec::scalar(Dtype::I64)] {
            let message = decoder.spec(&spec).unwrap_err().to_string();
            assert!(
                message.contains(&format!("already {spec}")) && message.contains(entry.name),
                "{message}"
            );
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut random = samples::Random::new(3);
    let mut scratch = Scratch::new();
    for entry in DECODERS {
        let decoder = entry.make(&serde_json::Map::new()).unwrap();
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..random.below(64)).map(|_| random.below(256) as u8).collect();
            let _ = decoder.decode(&Bytes::from(bytes), &mut scratch);
        }
    }
}

#[test]
fn every_format_renders() {
    for (_, sample) in samples::all() {
        let (width, height, channels, rgb) = render("rgb", "{}", &sample.bytes);
        assert_eq!(((width, height), channels), (sample.size, 3), "{}", sample.name);
        let (.., gray) = render("gray", "{}", &sample.bytes);
        assert_eq!(gray.len() * 3, rgb.len());
        match decode("stored", "{}", &sample.bytes).unwrap() {
            Value::Image(_) if sample.depth == 8 => {
                let (.., channels, stored) = render("stored", "{}", &sample.bytes);
                assert_eq!(channels, sample.channels, "{}", sample.name);
                assert!(sample.stored.is_none_or(|s| s == stored), "{}", sample.name);
            }
            Value::Tensor(tensor) if sample.depth == 16 => {
                let (w, h) = (sample.size.0 as usize, sample.size.1 as usize);
                assert_eq!(tensor.shape, [h, w, sample.channels.into()], "{}", sample.name);
                assert_eq!(tensor.dtype, Dtype::U16);
                assert_eq!(Some(tensor.data.to_vec()), sample.stored, "{}", sample.name);
            }
            other => panic!("{}: {other:?}", sample.name),
        }
    }
}

#[test]
fn strangers_are_named() {
    let message = |bytes: &[u8]| decode("rgb", "{}", bytes).unwrap_err();
    assert!(message(b"").contains("zero-length image"));
    assert!(message(b"<!DOCTYPE html><html>404").contains("looks like HTML"));
    assert!(message(b"<?xml version='1.0'?><svg>").contains("SVG"));
    assert!(message(b"\x1f\x8b\x08\0\0\0").contains("looks like a gzip file"));
    assert!(message(b"Not found").contains("`Not found`, which looks like text"));
    assert!(message(b"{\"error\": 1}").contains("JSON"));
    assert!(message(&[0; 100]).contains("hole"));
    assert!(message(b"\0\0\0 ftypavif").contains("AVIF"));
    assert!(message(b"\x89PNG").contains("`\\x89PNG`"));
    for codec in CODECS {
        assert!(message(b"nothing").contains(codec.name));
    }
}

/// A small file of every format that claims to have so many pixels.
pub(super) fn lies(width: u16, height: u16) -> Vec<(&'static str, Vec<u8>)> {
    let mut lies: Vec<(&str, Vec<u8>)> = vec![("pnm", format!("P6 {width} {height} 255\n").into())];
    let little = [width.to_le_bytes(), height.to_le_bytes()];
    let mut gif = samples::of("gif")[0].bytes.clone();
    gif[6..10].copy_from_slice(&little.concat());
    lies.push(("gif", gif));
    let mut bmp = samples::of("bmp")[0].bytes.clone();
    bmp[18..26].copy_from_slice(&[little[0], [0; 2], little[1], [0; 2]].concat());
    lies.push(("bmp", bmp));
    let mut tiff = samples::of("tiff")[1].bytes.clone();
    // Width, height and rows per strip: with more strips than the file has, it would be refused as inconsistent.
    for (tag, value) in [(0x00, little[0]), (0x01, little[1]), (0x16, little[1])] {
        let at = tiff.windows(4).position(|w| w == [tag, 1, 4, 0] || w == [tag, 1, 3, 0]).unwrap();
        tiff[at + 2..at + 12].copy_from_slice(&[[4, 0], [1, 0], [0, 0], value, [0, 0]].concat());
    }
    lies.push(("tiff", tiff));
    let mut jpeg = samples::of("jpeg")[0].bytes.clone();
    let sof = jpeg.windows(2).position(|w| w == [0xff, 0xc0]).unwrap();
    jpeg[sof + 5..sof + 9].copy_from_slice(&[height.to_be_bytes(), width.to_be_bytes()].concat());
    lies.push(("jpeg", jpeg));
    let mut webp = samples::of("webp")[0].bytes.clone();
    let at = webp.windows(4).position(|w| w == b"VP8L").unwrap();
    // Fourteen bits each, less one.
    let (w, h) = (u32::from(width - 1).min(0x3fff), u32::from(height - 1).min(0x3fff));
    webp[at + 9..at + 13].copy_from_slice(&(w | (h << 14)).to_le_bytes());
    lies.push(("webp", webp));
    lies.push(("png", super::png::tests::claiming(width.into(), height.into())));
    assert_eq!(lies.len(), CODECS.len());
    lies
}

#[test]
fn huge_images_are_refused_by_their_header() {
    for (name, bytes) in lies(65500, 32767) {
        let message = decode("rgb", "{}", &bytes).unwrap_err();
        assert!(message.contains("more than max_pixels=178956970"), "{name}: {message}");
        assert!(message.contains("give the decoder `rgb` a larger max_pixels"), "{name}: {message}");
    }
}

#[test]
fn max_pixels_is_the_last_number_allowed() {
    let sample = &samples::of("png")[2];
    let pixels = sample.size.0 * sample.size.1;
    assert!(decode("rgb", &format!(r#"{{"max_pixels": {pixels}}}"#), &sample.bytes).is_ok());
    assert!(decode("rgb", &format!(r#"{{"max_pixels": {}}}"#, pixels - 1), &sample.bytes).is_err());
    let made = find(DECODERS, "rgb", "decoder")
        .unwrap()
        .make(&serde_json::from_str(r#"{"max_pixels": 0}"#).unwrap());
    assert!(made.unwrap_err().to_string().contains("max_pixels"));
}

#[test]
fn bytes_pass_through_uncopied() {
    let bytes = Bytes::from_static(b"anything");
    let Ok(Value::Bytes(out)) = decoder("bytes", "{}").decode(&bytes, &mut Scratch::new()) else { panic!() };
    assert_eq!(out.as_ptr(), bytes.as_ptr());
}

/// Rotates `image` upright by the definition of each orientation: where row 0 and column 0 of the file are.
fn upright(orientation: u8, (w, h): (usize, usize), pixel: usize, image: &[u8]) -> Vec<u8> {
    let (ow, oh) = if orientation >= 5 { (h, w) } else { (w, h) };
    let mut out = vec![0; image.len()];
    for y in 0..h {
        for x in 0..w {
            // Row 0 is at the visual top (1, 2), bottom (3, 4), left (5, 8) or right (6, 7).
            let (to_x, to_y) = match orientation {
                1 => (x, y),
                2 => (ow - 1 - x, y),
                3 => (ow - 1 - x, oh - 1 - y),
                4 => (x, oh - 1 - y),
                5 => (y, x),
                6 => (ow - 1 - y, x),
                7 => (ow - 1 - y, oh - 1 - x),
                _ => (y, oh - 1 - x),
            };
            let (from, to) = ((y * w + x) * pixel, (to_y * ow + to_x) * pixel);
            out[to..to + pixel].copy_from_slice(&image[from..from + pixel]);
        }
    }
    out
}

#[test]
fn orientation_is_applied_when_asked_for() {
    let jpeg = &samples::of("jpeg")[0];
    let png = &samples::of("png")[5];
    let webp = &samples::of("webp")[1];
    for orientation in 1..=8 {
        for (sample, bytes) in [
            (jpeg, super::jpeg::tests::with_exif(&jpeg.bytes, orientation)),
            (png, super::png::tests::with_exif(&png.bytes, orientation)),
            (webp, super::webp::tests::with_exif(&webp.bytes, orientation)),
        ] {
            let (w, h, c, lying) = render("rgb", "{}", &bytes);
            assert_eq!((w, h), sample.size);
            let (tw, th, _, stands) = render("rgb", r#"{"orientation": true}"#, &bytes);
            assert_eq!((tw, th), if orientation >= 5 { (h, w) } else { (w, h) });
            let expected = upright(orientation, (w as usize, h as usize), c.into(), &lying);
            assert!(stands == expected, "{} {orientation}", sample.name);
        }
        // 16-bit pixels are rotated too.
        let bytes = super::png::tests::with_exif(&png.bytes, orientation);
        let Ok(Value::Tensor(t)) = decode("stored", r#"{"orientation": true}"#, &bytes) else { panic!() };
        let (w, h) = (png.size.0 as usize, png.size.1 as usize);
        assert_eq!(t.data.to_vec(), upright(orientation, (w, h), 8, png.stored.as_ref().unwrap()));
    }
}
