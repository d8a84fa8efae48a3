//! Compares our decoder with the `png` crate's in one run: best of several rounds, microseconds per image.
//!
//! `cargo run --release -p infeed-png --example compare_png [FOLDER]`
//!
//! Without a folder of `.png` files, photo-like images of 32x32 and 512x512 are generated.
#![allow(clippy::print_stdout)]

use infeed_png::{Decoder, Output, read_header, stored_format};
use std::error::Error;
use std::time::{Duration, Instant};

const ROUNDS: usize = 25;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:<22} {:>7} {:>9} {:>9} {:>7}", "images", "bytes", "ours us", "png us", "ratio");
    if let Some(folder) = std::env::args().nth(1) {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|e| e == "png") {
                files.push(std::fs::read(path)?);
            }
        }
        if files.is_empty() {
            return Err("no .png files in that folder".into());
        }
        return compare(&folder, &files);
    }
    for (side, count) in [(32, 1000), (512, 8)] {
        let files: Result<Vec<_>, _> = (0..count).map(|seed| made_up(side, seed)).collect();
        compare(&format!("{side}x{side} made up"), &files?)?;
    }
    Ok(())
}

/// Each side's total is the sum over small groups of the group's best round: a group takes about a
/// millisecond, so that on a busy machine at least one of its rounds is likely to run undisturbed.
fn compare(name: &str, files: &[Vec<u8>]) -> Result<(), Box<dyn Error>> {
    let mut decoder = Decoder::new();
    let mut out = Vec::new();
    let mut total = [Duration::ZERO; 2];
    for group in files.chunks(if files[0].len() < 10_000 { 64 } else { 1 }) {
        let mut best = [Duration::MAX; 2];
        for _ in 0..ROUNDS {
            let start = Instant::now();
            for bytes in group {
                let header = read_header(bytes)?;
                let (channels, size) = stored_format(&header);
                let stride = header.width as usize * channels * size;
                let len = stride * header.height as usize;
                decoder.decode(bytes, &header, Output::AsStored, sized(&mut out, len), stride)?;
            }
            best[0] = best[0].min(start.elapsed());

            let start = Instant::now();
            for bytes in group {
                let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info()?;
                let len = reader.output_buffer_size().ok_or("too large")?;
                reader.next_frame(sized(&mut out, len))?;
            }
            best[1] = best[1].min(start.elapsed());
        }
        total = [total[0] + best[0], total[1] + best[1]];
    }
    let [ours, theirs] = total.map(|t| t.as_secs_f64() * 1e6 / files.len() as f64);
    let bytes = files.iter().map(Vec::len).sum::<usize>() / files.len();
    println!("{name:<22} {bytes:>7} {ours:>9.2} {theirs:>9.2} {:>7.2}", theirs / ours);
    Ok(())
}

fn sized(out: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if out.len() < len {
        out.resize(len, 0);
    }
    &mut out[..len]
}

/// Soft blobs under some sensor noise: compresses about as badly as a photograph.
fn made_up(side: u32, seed: u64) -> Result<Vec<u8>, png::EncodingError> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let waves: Vec<[f32; 4]> =
        (0..6).map(|_| [noise() * 14.0, noise() * 14.0, noise() * 6.3, noise()]).collect();
    let mut pixels = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let (u, v) = (x as f32 / side as f32, y as f32 / side as f32);
            let light: f32 = waves.iter().map(|[a, b, c, d]| (a * u + b * v + c).sin() * d).sum();
            let grain = noise() * 9.0;
            pixels.extend([1.0, 0.8, 0.6].map(|k| (128.0 + 40.0 * k * light + grain + noise() * 5.0) as u8));
        }
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_filter(png::Filter::Adaptive);
    encoder.set_compression(png::Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(file)
}
