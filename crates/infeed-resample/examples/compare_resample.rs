//! Microseconds per image, ours against `fast_image_resize` and a normalising loop.
//!
//! All candidates alternate within one run and the best few images of each count, so that a busy machine affects
//! the ratios little. Outputs rotate through a batch larger than the caches, as in a loader.

#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use infeed_resample::{Axis, Dtype, Filter, Layout, Pixels, Resampler, Sink};

const SIDE: u32 = 224;
const BATCH: usize = 64;
/// Images timed together: few enough to often be done within one turn of the scheduler.
const FEW: usize = 4;
const VALUES: usize = 3 * (SIDE * SIDE) as usize;
const SCALE: [f32; 4] = [1.0 / (255.0 * 0.229), 1.0 / (255.0 * 0.224), 1.0 / (255.0 * 0.225), 1.0];
const BIAS: [f32; 4] = [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225, 0.0];

struct Case {
    name: &'static str,
    width: u32,
    height: u32,
    full: u32,
}

fn main() {
    let cases = [
        Case { name: "250x190 -> 224x224", width: 250, height: 190, full: SIDE },
        Case { name: "394x394 -> 224x224", width: 394, height: 394, full: SIDE },
        Case { name: "300x600 -> 224x224", width: 300, height: 600, full: SIDE },
        Case { name: "224x394 -> 224x224", width: 224, height: 394, full: SIDE },
        Case { name: "450x450 -> 256x256, middle 224x224", width: 450, height: 450, full: 256 },
    ];
    for case in &cases {
        compare(case);
    }
}

fn compare(case: &Case) {
    let picture: Vec<u8> =
        (0..case.width * case.height * 3).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let margin = (case.full - SIDE) / 2;
    let mut bytes = vec![0u8; BATCH * VALUES];
    let mut floats = vec![0f32; BATCH * VALUES];
    let mut ours = Ours {
        resampler: Resampler::new(),
        pixels: Pixels {
            data: &picture,
            stride: case.width as usize * 3,
            width: case.width,
            height: case.height,
            channels: 3,
            origin: (0, 0),
        },
        x: Axis { source: case.width, full: case.full, window: margin..margin + SIDE, span: None },
        y: Axis { source: case.height, full: case.full, window: margin..margin + SIDE, span: None },
    };
    let mut theirs = Theirs {
        resizer: Resizer::new(),
        options: ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear)),
        source: ImageRef::new(case.width, case.height, &picture, PixelType::U8x3).expect("sizes fit"),
        scratch: Image::new(case.full, case.full, PixelType::U8x3),
        margin: margin as usize,
    };

    let mut best = [f64::INFINITY; 4];
    for _ in 0..40 {
        for (contender, best) in best.iter_mut().enumerate() {
            for few in (0..BATCH).step_by(FEW) {
                let start = Instant::now();
                for item in few..few + FEW {
                    let bytes = &mut bytes[item * VALUES..][..VALUES];
                    let floats = &mut floats[item * VALUES..][..VALUES];
                    match contender {
                        0 => ours.floats(floats),
                        1 => theirs.floats(floats),
                        2 => ours.bytes(bytes),
                        _ => theirs.bytes(bytes),
                    }
                }
                *best = best.min(start.elapsed().as_secs_f64() * 1e6 / FEW as f64);
            }
        }
    }
    black_box((&bytes, &floats));
    let line = |what, ours: f64, theirs: f64| {
        println!(
            "  {what}: ours {ours:6.1} us, fast_image_resize {theirs:6.1} us, ratio {:.2}",
            theirs / ours
        );
    };
    println!("{}", case.name);
    line("f32 CHW normalised", best[0], best[1]);
    line("u8 HWC            ", best[2], best[3]);
}

struct Ours<'a> {
    resampler: Resampler,
    pixels: Pixels<'a>,
    x: Axis,
    y: Axis,
}

impl Ours<'_> {
    fn floats(&mut self, out: &mut [f32]) {
        // SAFETY: any byte pattern is a valid f32, and the length is that of the same memory in bytes.
        let out = unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), size_of_val(out)) };
        self.render(out, Dtype::F32, Layout::Chw, SIDE as usize, SCALE, BIAS);
    }

    fn bytes(&mut self, out: &mut [u8]) {
        self.render(out, Dtype::U8, Layout::Hwc, SIDE as usize * 3, [1.0; 4], [0.0; 4]);
    }

    fn render(
        &mut self,
        out: &mut [u8],
        dtype: Dtype,
        layout: Layout,
        row_stride: usize,
        scale: [f32; 4],
        bias: [f32; 4],
    ) {
        let mut sink = Sink {
            out,
            dtype,
            layout,
            row_stride,
            plane_stride: (SIDE * SIDE) as usize,
            offset: 0,
            flip_h: false,
            flip_v: false,
            scale,
            bias,
        };
        self.resampler
            .render(&self.pixels, &self.x, &self.y, Filter::Bilinear, true, &mut sink)
            .expect("the request fits");
    }
}

struct Theirs<'a> {
    resizer: Resizer,
    options: ResizeOptions,
    source: ImageRef<'a>,
    scratch: Image<'static>,
    margin: usize,
}

impl Theirs<'_> {
    fn resize(&mut self) {
        self.resizer.resize(&self.source, &mut self.scratch, &self.options).expect("the formats match");
    }

    fn rows(&self) -> impl Iterator<Item = &[u8]> {
        let stride = self.scratch.width() as usize * 3;
        let rows = self.scratch.buffer().chunks_exact(stride).skip(self.margin).take(SIDE as usize);
        rows.map(move |row| &row[self.margin * 3..][..SIDE as usize * 3])
    }

    fn bytes(&mut self, out: &mut [u8]) {
        self.resize();
        for (row, out) in self.rows().zip(out.chunks_exact_mut(SIDE as usize * 3)) {
            out.copy_from_slice(row);
        }
    }

    fn floats(&mut self, out: &mut [f32]) {
        self.resize();
        let (red, rest) = out.split_at_mut((SIDE * SIDE) as usize);
        let (green, blue) = rest.split_at_mut((SIDE * SIDE) as usize);
        let side = SIDE as usize;
        let planes =
            red.chunks_exact_mut(side).zip(green.chunks_exact_mut(side)).zip(blue.chunks_exact_mut(side));
        for (row, ((red, green), blue)) in self.rows().zip(planes) {
            let pixels = row.as_chunks::<3>().0.iter();
            for (((pixel, red), green), blue) in pixels.zip(red).zip(green).zip(blue) {
                *red = f32::from(pixel[0]) * SCALE[0] + BIAS[0];
                *green = f32::from(pixel[1]) * SCALE[1] + BIAS[1];
                *blue = f32::from(pixel[2]) * SCALE[2] + BIAS[2];
            }
        }
    }
}
