//! Points: the joints of a person, the corners of a face.

mod keep;

use super::{Canvas, Moves};
use crate::{Dtype, Error, Result, Tensor, memory};
use bytes::Bytes;
use std::sync::Arc;

/// How points are read and written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PointRule {
    /// Whether stored numbers are shares of the image's width and height.
    pub relative: bool,
    /// Whether they come out as such shares.
    pub to_relative: bool,
    /// Points that change places when the image is mirrored: the left eye becomes the right one.
    pub pairs: Vec<(usize, usize)>,
}

/// The points of one image.
#[derive(Debug, Clone)]
pub struct Points {
    rule: Arc<PointRule>,
    canvas: Option<Canvas>,
    /// Of all points; the last is 2 (x, y) or 3 (x, y, visibility).
    shape: Vec<usize>,
    numbers: Vec<f64>,
    /// Whether the image was changed: until then points are what the data says.
    moved: bool,
}

impl Points {
    /// Takes points as they are stored: any shape whose last axis is x, y or x, y, visibility.
    pub fn new(numbers: Vec<f64>, shape: Vec<usize>, rule: Arc<PointRule>) -> Result<Self> {
        let last = shape.last().copied().unwrap_or(0);
        if shape.len() < 2 || !(last == 2 || last == 3) {
            return Err(Error::sample(format!(
                "keypoints have the shape {shape:?}: the last axis must be x, y or x, y, visibility"
            )));
        }
        let group = shape[shape.len() - 2];
        if let Some((a, b)) = rule.pairs.iter().find(|(a, b)| *a >= group || *b >= group) {
            return Err(Error::sample(format!(
                "pairs names the points {a} and {b}, and there are {group} points"
            )));
        }
        for (at, point) in numbers.chunks_exact(last).enumerate() {
            if !point.iter().all(|n| n.is_finite()) {
                return Err(Error::sample(format!("keypoint {at} is {point:?}: it must be finite numbers")));
            }
        }
        Ok(Points { rule, canvas: None, shape, numbers, moved: false })
    }

    /// Returns how many groups there are, one for each box.
    pub fn count(&self) -> usize {
        if self.shape.len() > 2 { self.shape[0] } else { 1 }
    }

    fn width(&self) -> usize {
        self.shape[self.shape.len() - 1]
    }

    /// Puts them into their image.
    pub fn place(&mut self, canvas: Canvas) -> Result<()> {
        if let Some(known) = self.canvas.filter(|known| *known != canvas) {
            return Err(Error::sample(format!(
                "the keypoints lie in an image of {}x{} and this one has {}x{}: the same transforms must work on both",
                known.0, known.1, canvas.0, canvas.1
            )));
        }
        if self.canvas.is_none() && self.rule.relative {
            let (w, h) = (f64::from(canvas.0), f64::from(canvas.1));
            let width = self.width();
            self.numbers.chunks_exact_mut(width).for_each(|p| (p[0], p[1]) = (p[0] * w, p[1] * h));
        }
        self.canvas = Some(canvas);
        Ok(())
    }

    /// Follows the pixels.
    pub fn follow(&mut self, moves: &Moves) {
        let Some(mut canvas) = self.canvas else { return };
        let width = self.width();
        self.moved |= !moves.list.is_empty();
        for step in &moves.list {
            // Points are numbers of pixels, as in torchvision: mirrored, 0 becomes the last pixel.
            if let Some(place) = step.places(canvas, 1.0) {
                for point in self.numbers.chunks_exact_mut(width) {
                    // A point without visibility has no place: its numbers mean nothing.
                    if width == 3 && point[2] == 0.0 {
                        continue;
                    }
                    (point[0], point[1]) = place(point[0], point[1]);
                }
            }
            if step.mirrors() {
                let group = self.shape[self.shape.len() - 2] * width;
                for points in self.numbers.chunks_exact_mut(group.max(1)) {
                    for (a, b) in &self.rule.pairs {
                        (0..width).for_each(|i| points.swap(a * width + i, b * width + i));
                    }
                }
            }
            canvas = step.canvas(canvas);
        }
        self.canvas = Some(canvas);
    }

    /// Ends their way: those with a visibility that left the image become (0, 0, 0), which COCO calls not labelled. `kept` are
    /// the groups whose boxes were kept.
    pub fn finish(&self, kept: Option<&[usize]>) -> Result<Tensor> {
        let Some((w, h)) = self.canvas else {
            return Err(Error::Internal { what: "keypoints that were never placed in an image".to_owned() });
        };
        let (w, h, width) = (f64::from(w), f64::from(h), self.width());
        let scale = if self.rule.to_relative { (w, h) } else { (1.0, 1.0) };
        let mut shape = self.shape.clone();
        let all: Vec<usize> = (0..self.count()).collect();
        let kept = kept.filter(|_| self.shape.len() > 2).unwrap_or(&all);
        if self.shape.len() > 2 {
            shape[0] = kept.len();
        }
        let group = self.numbers.len().checked_div(self.count()).unwrap_or(0);
        let mut data: Vec<u8> = memory::with_capacity(kept.len() * group * 4)?;
        for at in kept {
            for point in self.numbers[at * group..(at + 1) * group].chunks_exact(width) {
                let inside = (0.0..w).contains(&point[0]) && (0.0..h).contains(&point[1]);
                let lost = self.moved && width == 3 && (!inside || point[2] == 0.0);
                let numbers = [point[0] / scale.0, point[1] / scale.1, point.get(2).copied().unwrap_or(0.0)];
                for n in numbers.iter().take(width) {
                    let n = if lost { 0.0 } else { *n as f32 };
                    data.extend_from_slice(&n.to_ne_bytes());
                }
            }
        }
        Tensor::new(Dtype::F32, shape, Bytes::from(data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Move;

    fn numbers(points: &Points, kept: Option<&[usize]>) -> Vec<f32> {
        let tensor = points.finish(kept).unwrap();
        tensor.data.chunks_exact(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect()
    }

    #[test]
    fn a_mirror_swaps_left_and_right() {
        let rule = Arc::new(PointRule { pairs: vec![(0, 1)], ..PointRule::default() });
        let stored = vec![1.0, 2.0, 2.0, 8.0, 3.0, 1.0];
        let mut points = Points::new(stored, vec![1, 2, 3], rule).unwrap();
        points.place((10, 10)).unwrap();
        points.follow(&vec![Move::FlipX].into());
        assert_eq!(numbers(&points, None), [1.0, 3.0, 1.0, 8.0, 2.0, 2.0]);
        points.follow(&vec![Move::FlipX].into());
        assert_eq!(numbers(&points, None), [1.0, 2.0, 2.0, 8.0, 3.0, 1.0]);
    }

    #[test]
    fn those_that_leave_are_not_labelled() {
        let mut points =
            Points::new(vec![1.0, 2.0, 2.0, 8.0, 3.0, 1.0], vec![2, 1, 3], Arc::default()).unwrap();
        points.place((10, 10)).unwrap();
        points.follow(&vec![Move::Crop { left: 4, top: 0, size: (6, 6) }].into());
        assert_eq!(numbers(&points, None), [0.0, 0.0, 0.0, 4.0, 3.0, 1.0]);
        assert_eq!(numbers(&points, Some(&[1])), [4.0, 3.0, 1.0]);
        assert_eq!(points.finish(Some(&[])).unwrap().shape, [0, 1, 3]);
    }

    #[test]
    fn what_is_no_point_is_refused() {
        for (numbers, shape) in
            [(vec![1.0], vec![1]), (vec![1.0; 4], vec![1, 4]), (vec![f64::NAN, 1.0], vec![1, 2])]
        {
            assert!(Points::new(numbers, shape, Arc::default()).is_err());
        }
        let rule = Arc::new(PointRule { pairs: vec![(0, 2)], ..PointRule::default() });
        assert!(Points::new(vec![1.0; 4], vec![2, 2], rule).unwrap_err().to_string().contains("pairs"));
    }
}
