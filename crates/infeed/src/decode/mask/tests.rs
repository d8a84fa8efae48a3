use super::*;
use serde_json::json;

fn decode(args: serde_json::Value, bytes: Vec<u8>) -> Result<(Vec<usize>, Dtype, Vec<u8>)> {
    let decoder = ENTRY.make(args.as_object().unwrap())?;
    let mut scratch = Scratch::new();
    let value = decoder.decode(&Bytes::from(bytes), &mut scratch)?;
    let Value::Image(image) = value else { panic!("no image") };
    let mut out = vec![0; image.bytes()];
    image.render(&mut scratch, &mut out)?;
    Ok((image.shape(), image.finish.dtype, out))
}

/// A PNG of `width` pixels per row.
fn png(width: u32, color: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let row = (color.samples() * depth as usize * width as usize).div_ceil(8);
    let mut encoder = png::Encoder::new(&mut out, width, (data.len() / row) as u32);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![0, 0, 0, 128, 0, 0, 0, 128, 0, 9, 9, 9]);
    }
    encoder.write_header().unwrap().write_image_data(data).unwrap();
    out
}

#[test]
fn classes_are_what_the_file_stores() {
    use png::{BitDepth, ColorType};
    let indexed = png(4, ColorType::Indexed, BitDepth::Eight, &[0, 1, 2, 3, 3, 2, 1, 0]);
    let want = (vec![2, 4], Dtype::U8, vec![0, 1, 2, 3, 3, 2, 1, 0]);
    assert_eq!(decode(json!({}), indexed).unwrap(), want);
    let packed = png(4, ColorType::Indexed, BitDepth::Two, &[0b0001_1011, 0b1110_0100]);
    assert_eq!(decode(json!({}), packed).unwrap(), want);
    let gray = png(4, ColorType::Grayscale, BitDepth::Two, &[0b0001_1011, 0b1110_0100]);
    assert_eq!(decode(json!({}), gray).unwrap(), want, "small gray values are classes, not levels of light");
    let bits = png(8, ColorType::Grayscale, BitDepth::One, &[0b1010_0000]);
    assert_eq!(decode(json!({}), bits).unwrap().2, [1, 0, 1, 0, 0, 0, 0, 0]);
    let eight = png(2, ColorType::Grayscale, BitDepth::Eight, &[255, 7]);
    assert_eq!(decode(json!({}), eight).unwrap().2, [255, 7]);
}

#[test]
fn wide_classes_need_room() {
    use png::{BitDepth, ColorType};
    let wide = || png(2, ColorType::Grayscale, BitDepth::Sixteen, &[0, 7, 3, 232]);
    let error = decode(json!({}), wide()).unwrap_err().to_string();
    assert!(error.contains("1000") && error.contains("int32"), "{error}");
    let (shape, dtype, out) = decode(json!({"dtype": "int32"}), wide()).unwrap();
    assert_eq!((shape, dtype), (vec![1, 2], Dtype::I32));
    assert_eq!(out, [7i32.to_ne_bytes(), 1000i32.to_ne_bytes()].concat());
    let small = png(2, ColorType::Grayscale, BitDepth::Sixteen, &[0, 7, 0, 255]);
    assert_eq!(decode(json!({}), small).unwrap().2, [7, 255]);
    let (_, dtype, out) = decode(json!({"dtype": "int64"}), wide()).unwrap();
    assert_eq!((dtype, out.len()), (Dtype::I64, 16));
}

#[test]
fn colours_need_a_table() {
    use png::{BitDepth, ColorType};
    let rgb = || png(3, ColorType::Rgb, BitDepth::Eight, &[0, 0, 0, 128, 0, 0, 1, 2, 3]);
    let error = decode(json!({}), rgb()).unwrap_err().to_string();
    assert!(error.contains("colors="), "{error}");
    let error = decode(json!({"colors": [[0, 0, 0], [128, 0, 0]]}), rgb()).unwrap_err().to_string();
    assert!(error.contains("[1, 2, 3] at x 2, y 0"), "{error}");
    let table = json!({"colors": [[0, 0, 0, 7], [128, 0, 0, 9]], "ignore": 255});
    assert_eq!(decode(table, rgb()).unwrap().2, [7, 9, 255]);
    let (_, dtype, out) = decode(json!({"colors": "id"}), rgb()).unwrap();
    let ids = [0i32, 128, 1 + 256 * 2 + 65536 * 3];
    assert_eq!((dtype, out), (Dtype::I32, ids.iter().flat_map(|i| i.to_ne_bytes()).collect()));
    for wrong in
        [json!([]), json!([[1, 2]]), json!([[1, 2, 300]]), json!("ids"), json!([[1, 2, 3, 0], [1, 2, 3, 1]])]
    {
        let error = decode(json!({"colors": wrong}), rgb()).unwrap_err().to_string();
        assert!(error.contains("colors"), "{error}");
    }
}

#[test]
fn what_cannot_hold_classes_is_refused() {
    let decoder = ENTRY.make(&serde_json::Map::new()).unwrap();
    let jpeg = Bytes::from(crate::decode::samples::of("jpeg")[0].bytes.clone());
    let error = decoder.decode(&jpeg, &mut Scratch::new()).unwrap_err().to_string();
    assert!(error.contains("threshold"), "{error}");
    let bomb = png(4000, png::ColorType::Grayscale, png::BitDepth::One, &vec![0; 500 * 10]);
    let error = decode(json!({"max_pixels": 1000}), bomb).unwrap_err().to_string();
    assert!(error.contains("max_pixels=1000"), "{error}");
}
