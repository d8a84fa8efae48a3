//! Bilinear sampling equal to Pillow's, which computes in 64-bit floats and truncates.
//!
//! A block of pixels is first computed in 32-bit floats, because vectors hold more of them. The error is far below
//! [`NEAR`], so the result can only be wrong if it is that close to a whole number; those are computed again in 64-bit
//! floats.

use crate::Picture;

/// Pixels in a block.
const BLOCK: usize = 32;

const NEAR: f32 = 1e-3;

/// 2^23: adding it to a smaller float leaves the rounded integer in the lowest bits.
const WHOLE: f32 = 8_388_608.0;

/// Four values per pixel, even if not all are used: pixels are read four bytes at a time.
type Fours<T> = [[T; 4]; BLOCK];

/// The state of a block.
pub(crate) struct Between {
    inside: [bool; BLOCK],
    corners: [Fours<u8>; 4],
    dx: Fours<f32>,
    dy: Fours<f32>,
    values: Fours<u8>,
    close: Fours<u8>,
}

impl Between {
    pub(crate) fn new() -> Self {
        Between {
            inside: [false; BLOCK],
            corners: [[[0; 4]; BLOCK]; 4],
            dx: [[0.0; 4]; BLOCK],
            dy: [[0.0; 4]; BLOCK],
            values: [[0; 4]; BLOCK],
            close: [[0; 4]; BLOCK],
        }
    }

    /// Samples a row: column x gets the value at `point(x)`, or `fill` if that is outside.
    #[inline(always)]
    pub(crate) fn row<const C: usize>(
        &mut self,
        picture: &Picture<'_>,
        point: impl Fn(usize) -> (f64, f64),
        fill: [u8; C],
        row: &mut [[u8; C]],
    ) {
        for (block, out) in row.chunks_mut(BLOCK).enumerate() {
            for i in 0..out.len() {
                let (x, y) = point(block * BLOCK + i);
                self.gather::<C>(picture, i, x, y);
            }
            self.blend();
            for (i, out) in out.iter_mut().enumerate() {
                let [a, b, c, d] = [0, 1, 2, 3].map(|corner: usize| self.corners[corner][i]);
                let close = (0..C).fold(0, |any, c| any | self.close[i][c]) != 0;
                *out = if !self.inside[i] {
                    fill
                } else if close && !(a == b && c == d && a == c) {
                    let (x, y) = point(block * BLOCK + i);
                    exactly(&[a, b, c, d], x - 0.5, y - 0.5)
                } else {
                    // Between pixels of one colour there is nothing to round.
                    std::array::from_fn(|c| self.values[i][c])
                };
            }
        }
    }

    /// Stores the pixels around a point.
    #[inline(always)]
    fn gather<const C: usize>(&mut self, picture: &Picture<'_>, i: usize, x: f64, y: f64) {
        let (width, height) = (picture.width, picture.height);
        self.inside[i] = x >= 0.0 && x < width as f64 && y >= 0.0 && y < height as f64;
        if !self.inside[i] {
            return;
        }
        // Points are relative to the corner of the first pixel, interpolation squares to its centre.
        let (x, y) = (x - 0.5, y - 0.5);
        let (column, row) = (floor(x), floor(y));
        self.dx[i] = [(x - f64::from(column)) as f32; 4];
        self.dy[i] = [(y - f64::from(row)) as f32; 4];
        let stride = width * C;
        let start = (row.max(0) as usize * width + column.max(0) as usize) * C;
        let square = data_from(picture.data, start, stride + C + 4);
        if column >= 0
            && row >= 0
            && (column as usize) < width - 1
            && let Some((above, below)) = square.map(|square| square.split_at(stride))
        {
            self.corners[0][i] = four(above, 0);
            self.corners[1][i] = four(above, C);
            self.corners[2][i] = four(below, 0);
            self.corners[3][i] = four(below, C);
        } else {
            self.at_border::<C>(picture, i, column, row);
        }
    }

    /// Does the same at the border, where the last pixel is repeated.
    #[cold]
    fn at_border<const C: usize>(&mut self, picture: &Picture<'_>, i: usize, column: i32, row: i32) {
        let near = |at: i32, count: usize| (at.max(0) as usize).min(count - 1);
        let (left, right) = (near(column, picture.width), near(column + 1, picture.width));
        let (above, below) = (near(row, picture.height), near(row + 1, picture.height));
        for (to, (y, x)) in
            self.corners.iter_mut().zip([(above, left), (above, right), (below, left), (below, right)])
        {
            to[i] = four(picture.data, (y * picture.width + x) * C);
        }
    }

    /// The whole block in 32-bit floats.
    fn blend(&mut self) {
        let [a, b, c, d] = &self.corners;
        let corners =
            a.as_flattened().iter().zip(b.as_flattened()).zip(c.as_flattened()).zip(d.as_flattened());
        let places = self.dx.as_flattened().iter().zip(self.dy.as_flattened());
        let results = self.values.as_flattened_mut().iter_mut().zip(self.close.as_flattened_mut());
        for (((((a, b), c), d), (dx, dy)), (value, close)) in corners.zip(places).zip(results) {
            let [a, b, c, d] = [f32::from(*a), f32::from(*b), f32::from(*c), f32::from(*d)];
            let (high, low) = (a + (b - a) * dx, c + (d - c) * dx);
            let level = high + (low - high) * dy;
            let rounded = level + WHOLE;
            let nearest = rounded - WHOLE;
            *close = u8::from((level - nearest).abs() < NEAR);
            *value = (rounded.to_bits().wrapping_sub(u32::from(nearest > level))) as u8;
        }
    }
}

/// Floor without a function call, for numbers of at least -1: truncates and corrects downwards.
#[inline(always)]
fn floor(v: f64) -> i32 {
    v as i32 - i32::from(v < 0.0)
}

#[inline(always)]
fn data_from(data: &[u8], start: usize, len: usize) -> Option<&[u8]> {
    data.get(start..)?.get(..len)
}

/// One value in 64-bit floats, in Pillow's order of operations.
#[cold]
fn exactly<const C: usize>(corners: &[[u8; 4]; 4], x: f64, y: f64) -> [u8; C] {
    let (dx, dy) = (x - f64::from(floor(x)), y - f64::from(floor(y)));
    std::array::from_fn(|i| {
        let [a, b, c, d] = corners.map(|corner| f64::from(corner[i]));
        let (high, low) = (a + (b - a) * dx, c + (d - c) * dx);
        (high + (low - high) * dy) as u8
    })
}

/// Four bytes; zeros where the data ends.
#[inline(always)]
fn four(data: &[u8], at: usize) -> [u8; 4] {
    if let Some(four) = data.get(at..at + 4).and_then(|four| four.first_chunk()) {
        return *four;
    }
    std::array::from_fn(|i| data.get(at + i).copied().unwrap_or(0))
}
