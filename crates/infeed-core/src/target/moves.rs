//! How a transform moves the pixels of an image.

/// Width and height in pixels.
pub type Canvas = (u32, u32);

/// Where a place of an image goes.
pub(super) type Places<'a> = Box<dyn Fn(f64, f64) -> (f64, f64) + 'a>;

/// One move.
#[derive(Debug, Clone, PartialEq)]
pub enum Move {
    /// Shows a rectangle, which may reach outside of the image.
    Crop {
        /// Its left edge.
        left: i64,
        /// Its upper edge.
        top: i64,
        /// Width and height.
        size: Canvas,
    },
    /// Changes the size to this width and height.
    Resize(Canvas),
    /// Mirrors left and right.
    FlipX,
    /// Mirrors top and bottom.
    FlipY,
    /// Shows at (x, y) what was at (ax + by + c, dx + ey + f).
    Affine {
        /// a to f.
        from: [f64; 6],
        /// Width and height afterwards.
        size: Canvas,
    },
    /// Shows at (x, y) what was at (ax + by + c, dx + ey + f) / (gx + hy + 1).
    Perspective {
        /// a to h.
        from: [f64; 8],
    },
}

/// All moves of one transform, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moves {
    /// The moves.
    pub list: Vec<Move>,
    /// Boxes that the transform gives up, whatever remains visible of them.
    pub gone: Vec<bool>,
}

impl From<Vec<Move>> for Moves {
    fn from(list: Vec<Move>) -> Self {
        Moves { list, gone: vec![] }
    }
}

impl Move {
    /// Returns the canvas after the move.
    pub fn canvas(&self, before: Canvas) -> Canvas {
        match self {
            Move::Crop { size, .. } | Move::Resize(size) | Move::Affine { size, .. } => *size,
            Move::FlipX | Move::FlipY | Move::Perspective { .. } => before,
        }
    }

    /// Whether left becomes right.
    pub(super) fn mirrors(&self) -> bool {
        match self {
            Move::FlipX | Move::FlipY => true,
            Move::Affine { from: [a, b, _, d, e, _], .. } => a * e - b * d < 0.0,
            Move::Crop { .. } | Move::Resize(_) | Move::Perspective { .. } => false,
        }
    }

    /// Returns where places of the image go. `edge` is 0 for edges, which lie between pixels, and 1 for the numbers of pixels:
    /// mirrored, pixel 0 becomes the last one. `None` if nothing can be said: the move squeezes the image flat.
    pub(super) fn places(&self, (width, height): Canvas, edge: f64) -> Option<Places<'_>> {
        let (w, h) = (f64::from(width), f64::from(height));
        Some(match self {
            Move::Crop { left, top, .. } => {
                let (left, top) = (*left as f64, *top as f64);
                Box::new(move |x, y| (x - left, y - top))
            }
            Move::Resize((new_w, new_h)) => {
                let (by_x, by_y) = (f64::from(*new_w) / w, f64::from(*new_h) / h);
                Box::new(move |x, y| (x * by_x, y * by_y))
            }
            Move::FlipX => Box::new(move |x, y| (w - edge - x, y)),
            Move::FlipY => Box::new(move |x, y| (x, h - edge - y)),
            Move::Affine { from: [a, b, c, d, e, f], .. } => {
                let det = a * e - b * d;
                if det == 0.0 {
                    return None;
                }
                Box::new(move |x, y| {
                    let (x, y) = (x - c, y - f);
                    ((e * x - b * y) / det, (a * y - d * x) / det)
                })
            }
            Move::Perspective { from: [a, b, c, d, e, f, g, h] } => {
                let (a, b, c, d, e, f, g, h) = (*a, *b, *c, *d, *e, *f, *g, *h);
                let to = [
                    [e - f * h, c * h - b, b * f - c * e],
                    [f * g - d, a - c * g, c * d - a * f],
                    [d * h - e * g, b * g - a * h, a * e - b * d],
                ];
                if to[2][2] == 0.0 {
                    return None;
                }
                Box::new(move |x, y| {
                    let row = |r: &[f64; 3]| r[0] * x + r[1] * y + r[2];
                    let below = row(&to[2]);
                    (row(&to[0]) / below, row(&to[1]) / below)
                })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A place goes where the image shows it: going there and asking where that came from gives the place.
        #[test]
        fn places_are_the_way_back(
            a in prop::array::uniform6(-2.0f64..2.0),
            (x, y) in (0.0f64..50.0, 0.0f64..40.0),
            (g, h) in (-0.002f64..0.002, -0.002f64..0.002),
        ) {
            let det = a[0] * a[4] - a[1] * a[3];
            prop_assume!(det.abs() > 0.05);
            let affine = Move::Affine { from: a, size: (50, 40) };
            let (u, v) = affine.places((50, 40), 0.0).unwrap()(x, y);
            prop_assert!((a[0] * u + a[1] * v + a[2] - x).abs() < 1e-6);
            prop_assert!((a[3] * u + a[4] * v + a[5] - y).abs() < 1e-6);
            let from = [a[0], a[1], a[2], a[3], a[4], a[5], g, h];
            let (u, v) = Move::Perspective { from }.places((50, 40), 0.0).unwrap()(x, y);
            let below = g * u + h * v + 1.0;
            prop_assume!(below.abs() > 1e-3);
            prop_assert!(((a[0] * u + a[1] * v + a[2]) / below - x).abs() < 1e-4);
            prop_assert!(((a[3] * u + a[4] * v + a[5]) / below - y).abs() < 1e-4);
        }
    }

    #[test]
    fn flat_moves_lead_nowhere() {
        assert!(
            Move::Affine { from: [1.0, 2.0, 0.0, 2.0, 4.0, 0.0], size: (1, 1) }.places((9, 9), 0.0).is_none()
        );
    }
}
