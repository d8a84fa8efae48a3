//! Compares with Pillow. `golden/` holds a small set; `INFEED_RESAMPLE_GOLDEN` may name a folder with a larger one,
//! made by `golden/make.py DIR COUNT`. Run with `--nocapture` for the errors per filter.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use infeed_resample::{Axis, Dtype, Filter, Layout, Pixels, Resampler, Sink, needed};

const FILTERS: [(&str, Filter); 6] = [
    ("nearest", Filter::Nearest),
    ("box", Filter::Box),
    ("bilinear", Filter::Bilinear),
    ("hamming", Filter::Hamming),
    ("bicubic", Filter::Bicubic),
    ("lanczos", Filter::Lanczos),
];

fn picture(channels: u32, kind: u32, seed: u32, width: u32, height: u32) -> Vec<u8> {
    let places =
        (0..height).flat_map(|y| (0..width).flat_map(move |x| (0..channels).map(move |c| (x, y, c))));
    match kind {
        0 => (0..width * height * channels)
            .map(|i| {
                let mut x = i.wrapping_add(seed);
                x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
                x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
                (x >> 24) as u8
            })
            .collect(),
        1 => places.map(|(x, y, c)| (x * 7 + y * 13 + c * 50).wrapping_add(seed) as u8).collect(),
        _ => places.map(|(x, y, c)| if (x / 3 + y / 2 + c) % 2 == 1 { 255 } else { 0 }).collect(),
    }
}

/// Renders from only the pixels that the axes need, as a caller with a cropping decoder does.
fn render(
    resampler: &mut Resampler,
    data: &[u8],
    channels: usize,
    x: &Axis,
    y: &Axis,
    filter: Filter,
) -> Vec<u8> {
    let (columns, rows) = (needed(x, filter, true), needed(y, filter, true));
    let picture_stride = x.source as usize * channels;
    let cut: Vec<u8> = rows
        .clone()
        .flat_map(|row| {
            let row = &data[row as usize * picture_stride..][..picture_stride];
            row[columns.start as usize * channels..columns.end as usize * channels].to_vec()
        })
        .collect();
    let pixels = Pixels {
        data: &cut,
        stride: columns.len() * channels,
        width: columns.len() as u32,
        height: rows.len() as u32,
        channels,
        origin: (columns.start, rows.start),
    };
    let mut out = vec![0; x.window.len() * y.window.len() * channels];
    let mut sink = Sink {
        out: &mut out,
        dtype: Dtype::U8,
        layout: Layout::Hwc,
        row_stride: x.window.len() * channels,
        plane_stride: 0,
        offset: 0,
        flip_h: false,
        flip_v: false,
        scale: [1.0; 4],
        bias: [0.0; 4],
    };
    resampler.render(&pixels, x, y, filter, true, &mut sink).unwrap();
    out
}

fn compare(folder: &Path) {
    let mut resampler = Resampler::new();
    for (name, filter) in FILTERS {
        let file = std::fs::read(folder.join(name).with_extension("bin")).unwrap();
        let mut rest = &file[..];
        let (mut cases, mut values, mut total, mut worst) = (0, 0, 0, 0);
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(48);
            let (bounds, tail) = tail.split_at(32);
            let bounds: Vec<f64> =
                bounds.chunks(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
            let head: Vec<u32> = head.chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
            let [channels, kind, seed, sw, sh, fw, fh, x0, x1, y0, y1, len] = head[..] else {
                unreachable!()
            };
            let (expected, tail) = tail.split_at(len as usize);
            rest = tail;
            let span =
                |source: u32, from: f64, to: f64| (from > 0.0 || to < f64::from(source)).then_some(from..to);
            let x = Axis { source: sw, full: fw, window: x0..x1, span: span(sw, bounds[0], bounds[2]) };
            let y = Axis { source: sh, full: fh, window: y0..y1, span: span(sh, bounds[1], bounds[3]) };
            let data = picture(channels, kind, seed, sw, sh);
            let ours = render(&mut resampler, &data, channels as usize, &x, &y, filter);
            assert_eq!(ours.len(), expected.len());
            for (a, b) in ours.iter().zip(expected) {
                worst = worst.max(a.abs_diff(*b));
                total += u64::from(a.abs_diff(*b));
            }
            cases += 1;
            values += ours.len();
            assert_eq!(worst, 0, "{name} {x:?} {y:?} {channels} channels, kind {kind}");
        }
        println!(
            "{name}: {cases} cases, {values} values, largest error {worst}, mean {}",
            total as f64 / values as f64
        );
    }
}

#[test]
fn equals_pillow() {
    compare(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden"));
}

#[test]
fn equals_pillow_widely() {
    if let Some(folder) = std::env::var_os("INFEED_RESAMPLE_GOLDEN") {
        compare(Path::new(&folder));
    }
}
