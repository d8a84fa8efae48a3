//! Images whose pixels take more memory than one sample may have.

use super::{
    samples,
    tests::{decoder, lies},
};
use infeed_core::{Budget, Bytes, Image, Result, Scratch, Value, memory::SMALL};
use infeed_resample::Filter;
use std::sync::Arc;

fn render(bytes: &[u8], scratch: &mut Scratch) -> Result<Vec<u8>> {
    let value = decoder("rgb", "{}").decode(&Bytes::copy_from_slice(bytes), scratch)?;
    let Value::Image(image) = value else { panic!("not an image") };
    let mut out = vec![0; image.bytes()];
    image.render(scratch, &mut out)?;
    Ok(out)
}

#[test]
fn pixels_beyond_the_budget_are_refused_before_memory_is_taken() {
    // 81 million bytes of RGB; the decoders that make a copy take more.
    for (codec, file) in lies(6000, 4500) {
        let mut scratch = Scratch::with_budget(Arc::new(Budget::new(SMALL)));
        let message = render(&file, &mut scratch).unwrap_err().to_string();
        assert!(
            message.contains("MiB of memory, more than the 64.0 MiB that one sample may have"),
            "{codec}: {message}"
        );
        assert!(message.contains("raise memory="), "{codec}: {message}");
        assert_eq!((scratch.pixels.capacity(), scratch.spare.capacity()), (0, 0), "{codec}");
    }
}

#[test]
fn large_images_give_their_memory_back() {
    let mut file = b"P5 6000 4000 255\n".to_vec();
    file.resize(file.len() + 6000 * 4000, 9);
    let mut scratch = Scratch::new();
    assert_eq!(render(&file, &mut scratch).unwrap(), vec![9; 3 * 6000 * 4000]);
    assert!(scratch.pixels.capacity() as u64 > SMALL);
    scratch.end_sample();
    assert_eq!((scratch.pixels.capacity(), scratch.spare.capacity()), (0, 0));
}

#[test]
fn small_images_ask_nobody() {
    let mut scratch = Scratch::with_budget(Arc::new(Budget::new(0)));
    for (_, sample) in samples::all() {
        render(&sample.bytes, &mut scratch).map(drop).unwrap_or_else(|e| panic!("{}: {e}", sample.name));
    }
}

/// A line of one pixel that is resized to a giant, as `Resize(256)` does it.
#[test]
fn views_beyond_all_memory_are_errors() {
    let mut scratch = Scratch::new();
    let sliver = |width: u32, height: u32, scratch: &mut Scratch| {
        let mut image = Image::raw(1, 65500, 3, vec![7; 65500 * 3]).unwrap();
        image.resize(width, height, Filter::Bilinear, true, scratch).unwrap();
        image
    };
    let message = sliver(256, 16_768_000, &mut scratch).pixels_mut(&mut scratch).unwrap_err().to_string();
    assert!(message.contains("12.0 GiB of memory") && message.contains("memory="), "{message}");
    // A part of it is no trouble.
    let mut image = sliver(256, 16_768_000, &mut scratch);
    image.crop(0, 8_000_000, 224, 224, [0; 4], &mut scratch).unwrap();
    assert_eq!(image.pixels_mut(&mut scratch).unwrap().len(), 224 * 224 * 3);
    // Sides whose product is no number of bytes at all.
    let mut image = sliver(u32::MAX, u32::MAX, &mut scratch);
    assert!(image.bytes() > isize::MAX as usize);
    assert!(image.settle(&mut scratch).is_err());
    let mut image = sliver(2, 2, &mut scratch);
    let none = |_: &[u8], _: &mut [u8]| unreachable!("there is nothing to draw on");
    assert!(image.redraw((u32::MAX, u32::MAX, 4), &mut scratch, none).is_err());
}

/// Millions of rows for a few: every output pixel has a coefficient for a part of them.
#[test]
fn coefficients_are_claimed_too() {
    let mut scratch = Scratch::with_budget(Arc::new(Budget::new(100 << 20)));
    let rows = 20_000_000;
    let mut image = Image::raw(1, rows, 1, vec![7; rows as usize]).unwrap();
    image.resize(32, 32, Filter::Lanczos, true, &mut scratch).unwrap();
    let message = image.pixels_mut(&mut scratch).unwrap_err().to_string();
    assert!(message.contains("of memory, more than the 100.0 MiB"), "{message}");
    // Without weights there are none.
    let mut image = Image::raw(1, rows, 1, vec![7; rows as usize]).unwrap();
    image.resize(32, 32, Filter::Nearest, true, &mut scratch).unwrap();
    assert_eq!(image.pixels_mut(&mut scratch).unwrap()[..], [7; 32 * 32]);
}
