//! The source of the kernel, run on the processor: it must give the bits of infeed-resample.

use crate::job::{Job, Jobs, SLACK};
use infeed_core::{Drawing, Dtype, Finish, PixelLayout, Rng};
use infeed_resample::{Axis, Filter, Layout, Pixels, Resampler, Sink, needed};
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Compiles it. `None` where there is no compiler.
fn compiled(folder: &Path) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/simulated/machine.cpp");
    let program = folder.join("machine");
    let done = Command::new("c++")
        .args(["-std=c++20", "-O2", "-ffp-contract=off", "-fwrapv", source, "-o"])
        .arg(&program)
        .output()
        .ok()?;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(program)
}

/// Runs jobs whose sources and targets are places in `pixels` and in the result.
fn run(program: &Path, jobs: &Jobs, pixels: &[u8], out: usize) -> Vec<u8> {
    let head = [
        jobs.list.len(),
        jobs.table as usize,
        jobs.room as usize,
        jobs.longest as usize,
        jobs.tiles() as usize,
        pixels.len() + SLACK as usize,
        out,
    ];
    let mut input: Vec<u8> = head.iter().flat_map(|n| (*n as u64).to_ne_bytes()).collect();
    // SAFETY: jobs are plain numbers without gaps.
    input.extend_from_slice(unsafe {
        std::slice::from_raw_parts(jobs.list.as_ptr().cast::<u8>(), size_of::<Job>() * jobs.list.len())
    });
    input.extend_from_slice(pixels);
    input.resize(input.len() + SLACK as usize, 0xDD);
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success());
    assert_eq!(done.stdout.len(), out);
    done.stdout
}

const FILTERS: [Filter; 6] =
    [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];

/// A random view of an image: crop, resize, window with padding around it, flips, any finish.
fn drawing(rng: &mut Rng, out: (u32, u32), finish: Finish) -> Drawing<'static> {
    let mut axis = |out: u32| {
        let size = 1 + rng.below(400) as u32;
        let len = 1 + rng.below(size.into()) as u32;
        let from = rng.below(u64::from(size - len) + 1) as u32;
        // Sometimes as it is, sometimes with the window at an edge or around it.
        let full = if rng.chance(0.2) { len } else { (len / 40).max(1) + rng.below(150) as u32 };
        let most = full.min(out);
        let len_window = 1 + rng.below(most.into()) as u32;
        let first = rng.below(u64::from(full - len_window) + 1) as u32;
        let lead = rng.below(u64::from(out - len_window) + 1) as u32;
        let resize = Axis { window: first..first + len_window, ..Axis::whole(len, full) };
        (size, from, resize, lead, rng.chance(0.5))
    };
    let (x, y) = (axis(out.0), axis(out.1));
    let gray = rng.chance(0.3);
    let channels = if gray && rng.chance(0.5) { 1 } else { 3 };
    Drawing {
        bytes: &[],
        size: (x.0, y.0),
        gray,
        channels,
        axes: (x.2, y.2),
        from: (x.1, y.1),
        lead: (x.3, y.3),
        flip: (x.4, y.4),
        out,
        filter: FILTERS[rng.below(6) as usize],
        antialias: rng.chance(0.7),
        fill: [7, 250, 100, 0],
        finish,
    }
}

/// The same by infeed-resample. Values outside of the window are left at `out`'s.
fn expected(drawing: &Drawing<'_>, pixels: &[u8], out: &mut [u8]) {
    let stored = if drawing.gray { 1 } else { 3 };
    let channels = usize::from(drawing.channels);
    let wide: Vec<u8> = pixels
        .chunks(stored)
        .flat_map(|pixel| (0..channels).map(|c| pixel[if stored == 1 { 0 } else { c }]))
        .collect();
    let (x, y) = &drawing.axes;
    let (nx, ny) =
        (needed(x, drawing.filter, drawing.antialias), needed(y, drawing.filter, drawing.antialias));
    let stride = drawing.size.0 as usize * channels;
    let (left, top) = (drawing.from.0 + nx.start, drawing.from.1 + ny.start);
    let source = Pixels {
        data: &wide[top as usize * stride + left as usize * channels..],
        stride,
        width: nx.end - nx.start,
        height: ny.end - ny.start,
        channels,
        origin: (nx.start, ny.start),
    };
    let (w, h) = (drawing.out.0 as usize, drawing.out.1 as usize);
    let (lead_x, lead_y) = (drawing.lead.0 as usize, drawing.lead.1 as usize);
    let (layout, row_stride, offset) = if drawing.planar() {
        (Layout::Chw, w, lead_y * w + lead_x)
    } else {
        (Layout::Hwc, w * channels, (lead_y * w + lead_x) * channels)
    };
    let dtype = match drawing.finish.dtype {
        Dtype::U8 => infeed_resample::Dtype::U8,
        Dtype::F16 => infeed_resample::Dtype::F16,
        Dtype::Bf16 => infeed_resample::Dtype::Bf16,
        _ => infeed_resample::Dtype::F32,
    };
    let mut sink = Sink {
        out,
        dtype,
        layout,
        row_stride,
        plane_stride: w * h,
        offset,
        flip_h: drawing.flip.0,
        flip_v: drawing.flip.1,
        scale: drawing.finish.scale,
        bias: drawing.finish.bias,
    };
    Resampler::new().render(&source, x, y, drawing.filter, drawing.antialias, &mut sink).unwrap();
}

/// The fill colour everywhere.
fn painted(drawing: &Drawing<'_>) -> Vec<u8> {
    let (w, h, channels) = (drawing.out.0 as usize, drawing.out.1 as usize, usize::from(drawing.channels));
    let value = |c: usize| -> Vec<u8> {
        let x = f32::from(drawing.fill[c]) * drawing.finish.scale[c] + drawing.finish.bias[c];
        match drawing.finish.dtype {
            Dtype::U8 => vec![x as u8],
            Dtype::F16 => half::f16::from_f32(x).to_ne_bytes().to_vec(),
            Dtype::Bf16 => half::bf16::from_f32(x).to_ne_bytes().to_vec(),
            _ => x.to_ne_bytes().to_vec(),
        }
    };
    let each = w * h;
    (0..each * channels)
        .flat_map(|at| value(if drawing.planar() { at / each } else { at % channels }))
        .collect()
}

#[test]
fn the_kernel_gives_the_bits_of_the_resampler() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path()) else { return };
    let mut rng = Rng::at(18, 0, 0, 0);
    let mut orders = [0; 2];
    let dtypes = [Dtype::U8, Dtype::F32, Dtype::F16, Dtype::Bf16];
    for round in 0..24usize {
        let out = (1 + rng.below(100) as u32, 1 + rng.below(100) as u32);
        let finish = Finish {
            dtype: dtypes[round % 4],
            layout: if rng.chance(0.5) { PixelLayout::Chw } else { PixelLayout::Hwc },
            scale: if round < 4 { [1.0; 4] } else { [0.0171, 1.3, 0.9, 1.0] },
            bias: if round < 4 { [0.0; 4] } else { [-2.1, 3.7, -20.0, 0.0] },
        };
        let (mut jobs, mut pixels, mut wanted) = (Jobs::default(), vec![], vec![]);
        let mut drawings = vec![];
        for _ in 0..6 {
            let drawing = drawing(&mut rng, out, finish);
            // Pixels of images begin at multiples of this, as on a device.
            pixels.resize(pixels.len().next_multiple_of(256), 0xCC);
            let own: Vec<u8> = (0..drawing.pixel_bytes()).map(|_| rng.next_u64() as u8).collect();
            jobs.add(&drawing, pixels.len() as u64, wanted.len() as u64);
            let mut row = painted(&drawing);
            expected(&drawing, &own, &mut row);
            // Values of two and four bytes are written where they are aligned.
            row.resize(row.len().next_multiple_of(4), 0xAB);
            wanted.extend(row);
            pixels.extend(own);
            drawings.push(drawing);
        }
        let found = run(&program, &jobs, &pixels, wanted.len());
        for (drawing, job) in drawings.iter().zip(&jobs.list) {
            orders[usize::from(job.goes_down_first())] += 1;
            let at = job.target() as usize;
            let range = at..at + drawing.result_bytes();
            let wrong = found[range.clone()].iter().zip(&wanted[range]).filter(|(a, b)| a != b).count();
            assert_eq!(wrong, 0, "round {round}: {wrong} bytes differ of {drawing:?}, {job:?}");
        }
    }
    assert!(orders.iter().all(|count| *count > 10), "{orders:?}");
}
