//! Boxes around things.

mod keep;

use super::{Canvas, Moves};
use crate::{Dtype, Error, Result, Tensor, memory};
use bytes::Bytes;
use std::sync::Arc;

/// What the four numbers of a box are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxFormat {
    /// Left, top, right, bottom.
    Xyxy,
    /// Left, top, width, height.
    Xywh,
    /// Middle, width, height.
    Cxcywh,
}

impl BoxFormat {
    fn corners(self, [a, b, c, d]: [f64; 4]) -> [f64; 4] {
        match self {
            BoxFormat::Xyxy => [a, b, c, d],
            BoxFormat::Xywh => [a, b, a + c, b + d],
            BoxFormat::Cxcywh => [a - c * 0.5, b - d * 0.5, a + c * 0.5, b + d * 0.5],
        }
    }

    fn of_corners(self, [l, t, r, b]: [f64; 4]) -> [f64; 4] {
        match self {
            BoxFormat::Xyxy => [l, t, r, b],
            BoxFormat::Xywh => [l, t, r - l, b - t],
            BoxFormat::Cxcywh => [(l + r) * 0.5, (t + b) * 0.5, r - l, b - t],
        }
    }
}

/// How boxes are read, kept and written.
#[derive(Debug, Clone, PartialEq)]
pub struct BoxRule {
    /// As they are stored.
    pub format: BoxFormat,
    /// Whether stored numbers are shares of the image's width and height.
    pub relative: bool,
    /// As they come out.
    pub to: BoxFormat,
    /// Whether they come out as shares of the image's width and height.
    pub to_relative: bool,
    /// Boxes of less width or height leave.
    pub min_size: f64,
    /// Boxes of which less is visible leave.
    pub min_visible: f64,
}

/// The boxes of one image.
#[derive(Debug, Clone)]
pub struct Boxes {
    rule: Arc<BoxRule>,
    /// The size of the image, once it is known: then the numbers are corners in pixels.
    canvas: Option<Canvas>,
    numbers: Vec<[f64; 4]>,
    /// Whether a box was given up.
    gone: Vec<bool>,
    /// The share of each box that is still visible.
    visible: Vec<f64>,
    /// Whether the image was changed: until then boxes are what the data says, however small.
    moved: bool,
}

impl Boxes {
    /// Takes boxes as they are stored. Numbers that cannot be a box are refused.
    pub fn new(numbers: Vec<[f64; 4]>, rule: Arc<BoxRule>) -> Result<Self> {
        for (at, stored) in numbers.iter().enumerate() {
            let [l, t, r, b] = rule.format.corners(*stored);
            if !stored.iter().all(|n| n.is_finite()) {
                return Err(Error::sample(format!("box {at} is {stored:?}: boxes must be finite numbers")));
            }
            if r < l || b < t {
                return Err(Error::sample(format!(
                    "box {at} is {stored:?}, which has a negative width or height: is it really {:?}?",
                    rule.format
                )));
            }
            if rule.relative && stored.iter().any(|n| n.abs() > 2.0) {
                return Err(Error::sample(format!(
                    "box {at} is {stored:?}: that is in pixels, and relative=True means shares of the image's size"
                )));
            }
        }
        let count = numbers.len();
        Ok(Boxes {
            rule,
            canvas: None,
            numbers,
            gone: vec![false; count],
            visible: vec![1.0; count],
            moved: false,
        })
    }

    /// Returns how many there are, with those that left.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Returns the size of the image that they lie in, if it is known yet.
    pub fn canvas(&self) -> Option<Canvas> {
        self.canvas
    }

    /// Puts them into their image. A box that lies outside of it as a whole belongs to another image.
    pub fn place(&mut self, canvas: Canvas) -> Result<()> {
        if let Some(known) = self.canvas {
            if known == canvas {
                return Ok(());
            }
            return Err(Error::sample(format!(
                "the boxes lie in an image of {}x{} and this one has {}x{}: the same transforms must work on both",
                known.0, known.1, canvas.0, canvas.1
            )));
        }
        let (w, h) = (f64::from(canvas.0), f64::from(canvas.1));
        for (at, numbers) in self.numbers.iter_mut().enumerate() {
            let stored = *numbers;
            let [mut l, mut t, mut r, mut b] = self.rule.format.corners(stored);
            if self.rule.relative {
                (l, t, r, b) = (l * w, t * h, r * w, b * h);
            }
            if r < 0.0 || b < 0.0 || l > w || t > h {
                return Err(Error::sample(format!(
                    "box {at} is {stored:?}, outside of its image of {}x{}: a wrong format, or the boxes of another image",
                    canvas.0, canvas.1
                )));
            }
            *numbers = clipped([l, t, r, b], canvas);
        }
        self.canvas = Some(canvas);
        Ok(())
    }

    /// Returns corners in pixels, for those that are still there. They have been placed.
    pub fn corners(&self) -> impl Iterator<Item = Option<[f64; 4]>> + '_ {
        self.numbers.iter().zip(&self.gone).map(|(corners, gone)| (!gone).then_some(*corners))
    }

    /// Follows the pixels. A rectangle that is turned becomes the smallest upright one around it.
    pub fn follow(&mut self, moves: &Moves) {
        let Some(mut canvas) = self.canvas else { return };
        self.moved |= !moves.list.is_empty();
        for step in &moves.list {
            let after = step.canvas(canvas);
            match step.places(canvas, 0.0) {
                None => self.gone.fill(true),
                Some(place) => {
                    for (corners, visible) in self.numbers.iter_mut().zip(&mut self.visible) {
                        let [l, t, r, b] = *corners;
                        let four = [place(l, t), place(r, t), place(r, b), place(l, b)];
                        let moved = four.iter().fold(
                            [f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY],
                            |[l, t, r, b], (x, y)| [l.min(*x), t.min(*y), r.max(*x), b.max(*y)],
                        );
                        let kept = clipped(moved, after);
                        let (before, now) = (area(moved), area(kept));
                        *visible *= match before > 0.0 {
                            true => now / before,
                            false => f64::from(u8::from(kept == moved)),
                        };
                        *corners = kept;
                    }
                }
            }
            canvas = after;
        }
        for (gone, more) in self.gone.iter_mut().zip(&moves.gone) {
            *gone |= more;
        }
        self.canvas = Some(canvas);
    }

    /// Ends their way: drops those that are too small or hardly visible, and writes the rest as numbers. Returns them with the
    /// places of those that were kept.
    pub fn finish(&self) -> Result<(Tensor, Vec<usize>)> {
        let Some((w, h)) = self.canvas else {
            return Err(Error::Internal { what: "boxes that were never placed in an image".to_owned() });
        };
        let keeps = |at: &usize| {
            let [l, t, r, b] = self.numbers[*at];
            let (size, visible) = ((r - l).min(b - t), self.visible[*at]);
            let fits = visible > 0.0 && size >= self.rule.min_size && visible >= self.rule.min_visible;
            !self.gone[*at] && (fits || !self.moved)
        };
        let kept: Vec<usize> = (0..self.numbers.len()).filter(keeps).collect();
        let scale = if self.rule.to_relative { [f64::from(w), f64::from(h)] } else { [1.0, 1.0] };
        let mut data: Vec<u8> = memory::with_capacity(kept.len() * 16)?;
        for at in &kept {
            let numbers = self.rule.to.of_corners(self.numbers[*at]);
            for (i, n) in numbers.iter().enumerate() {
                data.extend_from_slice(&((n / scale[i % 2]) as f32).to_ne_bytes());
            }
        }
        Ok((Tensor::new(Dtype::F32, vec![kept.len(), 4], Bytes::from(data))?, kept))
    }
}

fn clipped([l, t, r, b]: [f64; 4], (width, height): Canvas) -> [f64; 4] {
    let (w, h) = (f64::from(width), f64::from(height));
    // A place behind a perspective's horizon is no number; such a box is given up by its size.
    let inside = |n: f64, most: f64| if n.is_nan() { 0.0 } else { n.clamp(0.0, most) };
    [inside(l, w), inside(t, h), inside(r, w), inside(b, h)]
}

fn area([l, t, r, b]: [f64; 4]) -> f64 {
    (r - l).max(0.0) * (b - t).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Move;

    fn rule(format: BoxFormat, relative: bool) -> Arc<BoxRule> {
        Arc::new(BoxRule {
            format,
            relative,
            to: format,
            to_relative: relative,
            min_size: 1.0,
            min_visible: 0.0,
        })
    }

    fn numbers(boxes: &Boxes) -> Vec<f32> {
        let (tensor, _) = boxes.finish().unwrap();
        tensor.data.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
    }

    #[test]
    fn formats_come_out_as_they_went_in() {
        for (format, relative, stored) in [
            (BoxFormat::Xyxy, false, [10.0, 20.0, 30.0, 60.0]),
            (BoxFormat::Xywh, false, [10.0, 20.0, 30.0, 40.0]),
            (BoxFormat::Cxcywh, false, [50.0, 40.0, 30.0, 20.0]),
            (BoxFormat::Cxcywh, true, [0.5, 0.5, 0.25, 0.5]),
        ] {
            let mut boxes = Boxes::new(vec![stored], rule(format, relative)).unwrap();
            boxes.place((100, 80)).unwrap();
            let want: Vec<f32> = stored.iter().map(|n| *n as f32).collect();
            assert_eq!(numbers(&boxes), want, "{format:?}");
        }
    }

    #[test]
    fn what_is_no_box_is_refused() {
        let refuse = |stored, relative, what: &str| {
            let error = Boxes::new(vec![[1.0, 1.0, 1.5, 1.5], stored], rule(BoxFormat::Xyxy, relative))
                .and_then(|mut boxes| boxes.place((100, 80)))
                .unwrap_err()
                .to_string();
            assert!(error.contains(what) && error.contains("box 1"), "{error}");
        };
        refuse([f64::NAN, 0.0, 1.0, 1.0], false, "finite");
        refuse([0.0, f64::INFINITY, 1.0, f64::INFINITY], false, "finite");
        refuse([5.0, 5.0, 4.0, 9.0], false, "negative");
        refuse([10.0, 10.0, 30.0, 30.0], true, "in pixels");
        refuse([101.0, 10.0, 130.0, 30.0], false, "outside of its image of 100x80");
        refuse([10.0, -30.0, 30.0, -20.0], false, "outside");
    }

    #[test]
    fn those_that_vanish_say_which() {
        let stored = vec![[0.0, 0.0, 10.0, 10.0], [40.0, 40.0, 60.0, 60.0], [58.0, 58.0, 80.0, 70.0]];
        let mut boxes = Boxes::new(stored.clone(), rule(BoxFormat::Xyxy, false)).unwrap();
        boxes.place((100, 80)).unwrap();
        boxes.follow(&vec![Move::Crop { left: 30, top: 30, size: (30, 30) }].into());
        let (tensor, kept) = boxes.finish().unwrap();
        assert_eq!((kept, tensor.shape), (vec![1, 2], vec![2, 4]));
        let strict = BoxRule { min_visible: 0.5, ..(*rule(BoxFormat::Xyxy, false)).clone() };
        let mut boxes = Boxes::new(stored, Arc::new(strict)).unwrap();
        boxes.place((100, 80)).unwrap();
        boxes.follow(&vec![Move::Crop { left: 30, top: 30, size: (30, 30) }].into());
        assert_eq!(boxes.finish().unwrap().1, [1], "a corner of the last one is visible");
    }

    #[test]
    fn boxes_of_another_image_are_refused() {
        let mut boxes = Boxes::new(vec![[0.0, 0.0, 10.0, 10.0]], rule(BoxFormat::Xyxy, false)).unwrap();
        boxes.place((100, 80)).unwrap();
        assert!(boxes.place((100, 80)).is_ok());
        assert!(boxes.place((80, 100)).unwrap_err().to_string().contains("100x80"));
    }
}
