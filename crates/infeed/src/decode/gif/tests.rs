use super::super::{samples, tests::decode};
use super::*;
use infeed_core::{Rect, Value};

const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];
const WHITE: [u8; 3] = [255, 255, 255];

/// A GIF with the colours red, green, blue and white whose first frame is all green.
fn gif(canvas: (u16, u16), place: (u16, u16), size: (u16, u16), transparent: Option<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    let palette = [RED, GREEN, BLUE, WHITE].concat();
    let mut encoder = ::gif::Encoder::new(&mut out, canvas.0, canvas.1, &palette).unwrap();
    let frame = Frame {
        left: place.0,
        top: place.1,
        width: size.0,
        height: size.1,
        transparent,
        buffer: vec![1; usize::from(size.0) * usize::from(size.1)].into(),
        ..Frame::default()
    };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    out
}

fn read(bytes: &[u8], channels: Channels) -> ((u32, u32), Vec<u8>) {
    let info = Gif.probe(bytes).unwrap();
    let region = Rect { x: 0, y: 0, width: info.width, height: info.height };
    let mut out = Vec::new();
    let want = Want { region, shrink: 1, channels };
    Gif.read(bytes, &info, &want, &mut Scratch::new(), &mut out).unwrap();
    ((info.width, info.height), out)
}

#[test]
fn around_a_small_frame_lies_the_first_colour() {
    let file = gif((4, 3), (1, 1), (2, 1), None);
    let mut expected = [RED; 12];
    expected[5..7].fill(GREEN);
    assert_eq!(read(&file, Channels::Rgb), ((4, 3), expected.concat()));
}

#[test]
fn or_what_is_transparent() {
    let file = gif((3, 2), (0, 0), (1, 1), Some(2));
    let mut expected = [[0, 0, 255, 0]; 6];
    expected[0] = [0, 255, 0, 255];
    assert_eq!(read(&file, Channels::Stored), ((3, 2), expected.concat()));
    let mut gray = vec![luma(0, 0, 255); 6];
    gray[0] = luma(0, 255, 0);
    assert_eq!(read(&file, Channels::Gray), ((3, 2), gray));
}

#[test]
fn a_frame_that_is_larger_than_the_canvas_is_shown_whole() {
    let ((width, height), rgb) = read(&gif((2, 2), (1, 0), (3, 4), None), Channels::Rgb);
    assert_eq!((width, height), (4, 4));
    assert_eq!(rgb[..6], [RED, GREEN].concat());
    assert_eq!(rgb[rgb.len() - 3..], GREEN);
}

#[test]
fn colours_that_the_palette_does_not_have_are_gray() {
    // Two colours, and pixels of the place 3.
    let mut file = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\x00\xff\x00".to_vec();
    file.extend(b",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x5c\x01\x00;");
    assert_eq!(read(&file, Channels::Rgb), ((1, 1), vec![3; 3]));
}

#[test]
fn files_without_a_frame_and_cut_files_are_refused() {
    let whole = &samples::of("gif")[0].bytes;
    // The last bytes end the data, and say nothing about pixels.
    for cut in 0..whole.len() - 8 {
        let Ok(Value::Image(image)) = decode("rgb", "{}", &whole[..cut]) else { continue };
        let mut out = vec![0; image.bytes()];
        let message = image.render(&mut Scratch::new(), &mut out).unwrap_err().to_string();
        assert!(message.contains("GIF"), "{message}");
    }
    let message = decode("rgb", "{}", b"GIF89a\x01\x00\x01\x00\x00\x00\x00;").unwrap_err();
    assert!(message.contains("GIF"), "{message}");
}
