//! Properties that hold for any request: the vector code equals the plain code, a window equals the crop, a
//! flip equals the flipped picture, nothing outside the rectangle is touched, and nonsense is refused.

use crate::kernel::Level;
use crate::{Axis, Dtype, Error, Filter, Layout, Pixels, Resampler, Sink, needed};

const FILTERS: [Filter; 6] =
    [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];
const DTYPES: [Dtype; 4] = [Dtype::U8, Dtype::F32, Dtype::F16, Dtype::Bf16];

/// A small generator; the cases need variety, not quality.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = (self.0 >> 29 ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x >> 32
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.next() % u64::from(n)) as u32
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    fn axis(&mut self) -> Axis {
        let most = self.pick(&[4, 20, 150]);
        let source = 1 + self.below(most);
        let full = if self.below(6) == 0 { source } else { 1 + self.below(most) };
        let start = self.below(full);
        let end = start + 1 + self.below(full - start);
        let window = if self.below(2) == 0 { 0..full } else { start..end };
        let span = if self.below(3) == 0 { Some(self.span(source)) } else { None };
        Axis { source, full, window, span }
    }

    /// A part of `0..source`: sometimes all of it, whole pixels, or almost nothing.
    fn span(&mut self, source: u32) -> std::ops::Range<f64> {
        let steps = self.pick(&[1, 8, 1000]);
        let (a, b) = (self.below(source * steps + 1), self.below(source * steps + 1));
        let [start, end] = [a.min(b), a.max(b)].map(|at| f64::from(at) / f64::from(steps));
        if start < end { start..end } else { 0.0..f64::from(source) }
    }
}

#[derive(Debug, Clone)]
struct Request {
    channels: usize,
    x: Axis,
    y: Axis,
    filter: Filter,
    antialias: bool,
    dtype: Dtype,
    layout: Layout,
    margin: usize,
    flip: (bool, bool),
    scale: [f32; 4],
    bias: [f32; 4],
    /// Bytes after each source row.
    slack: usize,
}

impl Request {
    fn random(random: &mut Random) -> Self {
        let plain = random.below(3) == 0;
        let mut values = |from: &[f32]| if plain { [from[0]; 4] } else { [0; 4].map(|_| random.pick(from)) };
        let scale = values(&[1.0, 0.017, -3.7, 1.0 / 255.0, 300.0, 1e-7, f32::NAN, 1e36]);
        let bias = values(&[0.0, -2.1, 0.5, 1e-6, 100.0, f32::INFINITY]);
        Request {
            channels: random.pick(&[1, 3, 3, 4]),
            x: random.axis(),
            y: random.axis(),
            filter: random.pick(&FILTERS),
            antialias: random.below(3) > 0,
            dtype: random.pick(&DTYPES),
            layout: random.pick(&[Layout::Hwc, Layout::Chw]),
            margin: random.below(5) as usize,
            flip: (random.below(2) == 0, random.below(2) == 0),
            scale,
            bias,
            slack: random.pick(&[0, 0, 1, 70]),
        }
    }

    fn size(&self) -> (usize, usize) {
        (self.x.window.len(), self.y.window.len())
    }

    /// Renders from only what is needed of `picture` into the middle of a padded output filled with 0xA5.
    fn render(&self, level: Level, picture: &[u8]) -> Vec<u8> {
        let columns = needed(&self.x, self.filter, self.antialias);
        let rows = needed(&self.y, self.filter, self.antialias);
        let mut cut = Vec::new();
        for row in rows.clone() {
            let row = &picture[row as usize * self.x.source as usize * self.channels..];
            cut.extend_from_slice(
                &row[columns.start as usize * self.channels..][..columns.len() * self.channels],
            );
            // The last row ends where its pixels do.
            if row.len() > self.x.source as usize * self.channels && rows.end != rows.start {
                cut.resize(cut.len() + self.slack, 7);
            }
        }
        let pixels = Pixels {
            data: &cut,
            stride: columns.len() * self.channels + self.slack,
            width: columns.len() as u32,
            height: rows.len() as u32,
            channels: self.channels,
            origin: (columns.start, rows.start),
        };
        let (width, height) = self.size();
        let per_pixel = if self.layout == Layout::Hwc { self.channels } else { 1 };
        let row_stride = (width + 2 * self.margin) * per_pixel;
        let plane_stride = row_stride * (height + 2 * self.margin);
        let planes = if self.layout == Layout::Hwc { 1 } else { self.channels };
        let mut out = vec![0xa5; planes * plane_stride * self.dtype.size()];
        let mut sink = Sink {
            out: &mut out,
            dtype: self.dtype,
            layout: self.layout,
            row_stride,
            plane_stride,
            offset: self.margin * row_stride + self.margin * per_pixel,
            flip_h: self.flip.0,
            flip_v: self.flip.1,
            scale: self.scale,
            bias: self.bias,
        };
        Resampler::with_level(level)
            .render(&pixels, &self.x, &self.y, self.filter, self.antialias, &mut sink)
            .unwrap();
        out
    }

    fn picture(&self, random: &mut Random) -> Vec<u8> {
        let hard = random.below(2) == 0;
        let values = self.x.source as usize * self.y.source as usize * self.channels;
        (0..values)
            .map(|_| if hard { 255 * (random.next() & 1) as u8 } else { random.next() as u8 })
            .collect()
    }

    /// The value of a channel at a place of the output, margins counted.
    fn at<'a>(&self, out: &'a [u8], x: usize, y: usize, channel: usize) -> &'a [u8] {
        let (width, height) = (self.size().0 + 2 * self.margin, self.size().1 + 2 * self.margin);
        let element = match self.layout {
            Layout::Hwc => (y * width + x) * self.channels + channel,
            Layout::Chw => (channel * height + y) * width + x,
        };
        &out[element * self.dtype.size()..][..self.dtype.size()]
    }
}

/// A request that copies one pixel, as a base for others.
fn plain() -> Request {
    Request {
        channels: 3,
        x: Axis::whole(1, 1),
        y: Axis::whole(1, 1),
        filter: Filter::Bilinear,
        antialias: true,
        dtype: Dtype::U8,
        layout: Layout::Hwc,
        margin: 0,
        flip: (false, false),
        scale: [1.0; 4],
        bias: [0.0; 4],
        slack: 0,
    }
}

#[test]
fn vector_code_equals_plain_code() {
    let mut random = Random(1);
    for _ in 0..3000 {
        let request = Request::random(&mut random);
        let picture = request.picture(&mut random);
        let plain = request.render(Level::Scalar, &picture);
        for level in Level::all() {
            assert!(plain == request.render(level, &picture), "{level:?} {request:?}");
        }
    }
}

#[test]
fn windows_flips_layouts_and_margins_agree_with_the_whole() {
    let mut random = Random(2);
    for _ in 0..1000 {
        let request = Request::random(&mut random);
        let picture = request.picture(&mut random);
        let out = request.render(Level::best(), &picture);
        let whole = Request {
            x: Axis { window: 0..request.x.full, ..request.x.clone() },
            y: Axis { window: 0..request.y.full, ..request.y.clone() },
            layout: Layout::Hwc,
            margin: 0,
            flip: (false, false),
            ..request.clone()
        };
        let reference = whole.render(Level::best(), &picture);
        let (width, height) = request.size();
        let margin = request.margin;
        for y in 0..height + 2 * margin {
            for x in 0..width + 2 * margin {
                let inside = (margin..margin + width).contains(&x) && (margin..margin + height).contains(&y);
                for channel in 0..request.channels {
                    let value = request.at(&out, x, y, channel);
                    if !inside {
                        assert!(value.iter().all(|&byte| byte == 0xa5), "{request:?}");
                        continue;
                    }
                    let (x, y) = (x - margin, y - margin);
                    let x = if request.flip.0 { width - 1 - x } else { x } + request.x.window.start as usize;
                    let y = if request.flip.1 { height - 1 - y } else { y } + request.y.window.start as usize;
                    assert_eq!(value, whole.at(&reference, x, y, channel), "{request:?}");
                }
            }
        }
    }
}

/// Without antialiasing there is no Pillow to compare with; this is the definition, in floats.
#[test]
fn fixed_taps_follow_their_definition() {
    let mut random = Random(3);
    for _ in 0..300 {
        let filter = random.pick(&[Filter::Bilinear, Filter::Bicubic]);
        let (source, full) = (1 + random.below(40), 1 + random.below(90));
        let row: Vec<u8> = (0..source).map(|_| random.next() as u8).collect();
        let span = if random.below(2) == 0 { 0.0..f64::from(source) } else { random.span(source) };
        let x = Axis { span: Some(span.clone()), ..Axis::whole(source, full) };
        let request = Request { channels: 1, x, filter, antialias: false, ..plain() };
        let out = request.render(Level::best(), &row);
        let tap = |at: i64| f64::from(row[at.clamp(0, i64::from(source) - 1) as usize]);
        for (i, &got) in out.iter().enumerate() {
            let at = span.start + (i as f64 + 0.5) * (span.end - span.start) / f64::from(full) - 0.5;
            let expected = if filter == Filter::Bilinear {
                let at = at.max(0.0);
                let (low, t) = (at.floor() as i64, at.fract());
                tap(low) * (1.0 - t) + tap(low + 1) * t
            } else {
                let low = at.floor() as i64;
                let weight = |d: f64| crate::filter::cubic(d, -0.75);
                (low - 1..=low + 2).map(|p| tap(p) * weight(at - p as f64)).sum()
            };
            assert!(
                (f64::from(got) - expected.clamp(0.0, 255.0)).abs() < 0.51,
                "{source} {full} {i} {got} {expected}"
            );
        }
    }
}

#[test]
fn nonsense_is_refused() {
    let data = vec![0u8; 10 * 10 * 3];
    let good = Pixels { data: &data, stride: 30, width: 10, height: 10, channels: 3, origin: (0, 0) };
    let axis = Axis::whole(10, 5);
    let try_with = |pixels: Pixels<'_>, x: &Axis, len: usize, change: fn(&mut Sink<'_>)| {
        let mut out = vec![0; len];
        let mut sink = Sink {
            out: &mut out,
            dtype: Dtype::F32,
            layout: Layout::Chw,
            row_stride: 5,
            plane_stride: 25,
            offset: 0,
            flip_h: false,
            flip_v: false,
            scale: [1.0; 4],
            bias: [0.0; 4],
        };
        change(&mut sink);
        Resampler::new().render(&pixels, x, &axis, Filter::Bilinear, true, &mut sink)
    };
    assert_eq!(try_with(good, &axis, 300, |_| ()), Ok(()));
    assert_eq!(try_with(good, &Axis { window: 2..2, ..axis.clone() }, 0, |_| ()), Ok(()));
    assert!(matches!(try_with(good, &axis, 299, |_| ()), Err(Error::SinkTooShort { needed: 300, len: 299 })));
    assert!(matches!(try_with(good, &axis, 300, |s| s.offset = 1), Err(Error::SinkTooShort { .. })));
    assert_eq!(try_with(good, &axis, 300, |s| s.row_stride = usize::MAX), Err(Error::TooLarge));
    assert_eq!(try_with(good, &axis, 300, |s| s.plane_stride = usize::MAX / 2), Err(Error::TooLarge));
    assert_eq!(try_with(Pixels { channels: 2, ..good }, &axis, 300, |_| ()), Err(Error::Channels(2)));
    assert!(matches!(
        try_with(Pixels { stride: 31, ..good }, &axis, 300, |_| ()),
        Err(Error::PixelsTooShort { needed: 309, len: 300 })
    ));
    assert_eq!(try_with(Pixels { stride: usize::MAX, ..good }, &axis, 300, |_| ()), Err(Error::TooLarge));
    for (source, full, window) in
        [(0, 5, 0..5), (10, 0, 0..0), (10, 5, 0..6), (10, 5, std::ops::Range { start: 3, end: 2 })]
    {
        let bad = Axis { source, full, window, span: None };
        assert!(matches!(try_with(good, &bad, 300, |_| ()), Err(Error::Axis { .. })), "{bad:?}");
    }
    let spanned = |start, end| Axis { span: Some(std::ops::Range { start, end }), ..axis.clone() };
    for (start, end) in [(0.0, 10.0), (-0.0, 0.5), (9.999, 10.0), (2.5, 7.25)] {
        assert_eq!(try_with(good, &spanned(start, end), 300, |_| ()), Ok(()), "{start} {end}");
    }
    for (start, end) in [
        (f64::NAN, 10.0),
        (0.0, f64::NAN),
        (-0.1, 10.0),
        (0.0, 10.000_000_001),
        (0.0, f64::INFINITY),
        (f64::NEG_INFINITY, 5.0),
        (4.0, 4.0),
        (5.0, 4.0),
        (0.0, -0.0),
        (9.000_000_001, 9.000_000_002),
    ] {
        let bad = spanned(start, end);
        assert!(matches!(try_with(good, &bad, 300, |_| ()), Err(Error::Span { source: 10, .. })), "{bad:?}");
        assert!(needed(&bad, Filter::Bilinear, true).is_empty(), "{bad:?}");
    }
    for pixels in
        [Pixels { width: 9, ..good }, Pixels { origin: (1, 0), ..good }, Pixels { height: 9, ..good }]
    {
        assert!(matches!(try_with(pixels, &axis, 300, |_| ()), Err(Error::NotCovered { .. })), "{pixels:?}");
    }
}

/// An explicit whole span equals no span, and a span of whole pixels that keeps its size is a crop.
#[test]
fn plain_spans_are_nothing_new() {
    let mut random = Random(5);
    for _ in 0..300 {
        let mut request = Request::random(&mut random);
        (request.x.span, request.y.span) = (None, None);
        let picture = request.picture(&mut random);
        let unsaid = request.render(Level::best(), &picture);
        request.x.span = Some(0.0..f64::from(request.x.source));
        request.y.span = Some(0.0..f64::from(request.y.source));
        assert!(unsaid == request.render(Level::best(), &picture), "{request:?}");

        let (start, end) = (random.below(request.x.source), request.x.source);
        request.x = Axis { span: Some(f64::from(start)..f64::from(end)), ..Axis::whole(end, end - start) };
        let spanned = request.render(Level::best(), &picture);
        request.x = Axis { window: start..end, ..Axis::whole(end, end) };
        assert!(spanned == request.render(Level::best(), &picture), "{request:?}");
    }
}

/// A centre that rounds up to the edge of the picture has no pixel under it, but must not read beyond either.
#[test]
fn a_sliver_at_the_edge_can_be_enlarged() {
    let data: Vec<u8> = (0..100).collect();
    // Not nearest, which iterates over everything before its window.
    for (filter, span) in FILTERS[1..].iter().flat_map(|&f| [(f, 99.999_99..100.0), (f, 0.0..1e-40)]) {
        let full = u32::MAX;
        let x = Axis { source: 100, full, window: full - 3..full, span: Some(span) };
        let request = Request { channels: 1, x, filter, ..plain() };
        let out = request.render(Level::Scalar, &data);
        for level in Level::all() {
            assert_eq!(out, request.render(level, &data), "{request:?}");
        }
    }
}

/// Every plan of every render may be new; the buffers of old ones must not affect it.
#[test]
fn a_resampler_can_be_reused() {
    let mut random = Random(4);
    let mut resampler = Resampler::new();
    for _ in 0..300 {
        let (source, full) = (1 + random.below(60), 1 + random.below(60));
        let filter = random.pick(&FILTERS);
        let data: Vec<u8> = (0..source * source).map(|_| random.next() as u8).collect();
        let pixels = Pixels {
            data: &data,
            stride: source as usize,
            width: source,
            height: source,
            channels: 1,
            origin: (0, 0),
        };
        let axis = Axis::whole(source, full);
        let render = |resampler: &mut Resampler| {
            let mut out = vec![0; (full * full) as usize];
            let mut sink = Sink {
                out: &mut out,
                dtype: Dtype::U8,
                layout: Layout::Hwc,
                row_stride: full as usize,
                plane_stride: 0,
                offset: 0,
                flip_h: false,
                flip_v: false,
                scale: [1.0; 4],
                bias: [0.0; 4],
            };
            resampler.render(&pixels, &axis, &axis, filter, true, &mut sink).unwrap();
            out
        };
        assert_eq!(render(&mut resampler), render(&mut Resampler::new()), "{source} {full} {filter:?}");
    }
}
