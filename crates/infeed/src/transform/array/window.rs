//! Boxes of arrays, which may reach outside: crops and borders.

use super::{element::element_bytes, room, strided::Strided};
use infeed_core::{Args, Context, Error, Result, Tensor};

/// What is seen outside of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum Mode {
    /// One value.
    Constant,
    /// The last element again.
    Edge,
    /// The array mirrored, without its last element.
    Reflect,
    /// The array mirrored, with its last element.
    Symmetric,
}

impl Mode {
    /// Reads an argument.
    pub(in crate::transform) fn read(args: &Args, name: &str) -> Result<Mode> {
        match args.text(name)? {
            "constant" => Ok(Mode::Constant),
            "edge" => Ok(Mode::Edge),
            "reflect" => Ok(Mode::Reflect),
            "symmetric" => Ok(Mode::Symmetric),
            _ => Err(args.error(name, "must be constant, edge, reflect or symmetric")),
        }
    }

    /// Returns the source element for position `at` on a side of `len` elements.
    pub(in crate::transform) fn source(self, at: i64, len: i64) -> i64 {
        match self {
            Mode::Constant | Mode::Edge => at.clamp(0, len - 1),
            Mode::Reflect if at < 0 => -at,
            Mode::Reflect if at >= len => 2 * (len - 1) - at,
            Mode::Symmetric if at < 0 => -1 - at,
            Mode::Symmetric if at >= len => 2 * len - 1 - at,
            Mode::Reflect | Mode::Symmetric => at,
        }
    }

    /// The widest border that a side of `len` elements can have.
    pub(in crate::transform) fn most(self, len: i64) -> i64 {
        match self {
            Mode::Constant => i64::MAX,
            Mode::Edge => {
                if len > 0 {
                    i64::MAX
                } else {
                    0
                }
            }
            Mode::Reflect => (len - 1).max(0),
            Mode::Symmetric => len,
        }
    }
}

/// A box over the last axes of an array: where it starts, how long it is, and what is seen outside.
#[derive(Debug)]
pub(in crate::transform) struct Window<'a> {
    pub(in crate::transform) name: &'a str,
    pub(in crate::transform) starts: Vec<i64>,
    pub(in crate::transform) sizes: Vec<usize>,
    pub(in crate::transform) mode: Mode,
    pub(in crate::transform) fill: f64,
}

impl Window<'_> {
    /// Replaces an array by what is seen through the window.
    pub(in crate::transform) fn apply(&self, tensor: &mut Tensor, context: &mut Context<'_>) -> Result<()> {
        let rank = tensor.shape.len();
        let Some(outer) = rank.checked_sub(self.sizes.len()) else {
            return Err(self.wrong(&tensor.shape, "has fewer axes than the box"));
        };
        let lengths = &tensor.shape[outer..];
        let inside = |((start, size), len): ((&i64, &usize), &usize)| {
            *start >= 0 && (*start as usize).checked_add(*size).is_some_and(|end| end <= *len)
        };
        if self.starts.iter().zip(&self.sizes).zip(lengths).all(inside) {
            let mut view = Strided::of(&tensor.shape);
            for (i, (start, size)) in self.starts.iter().zip(&self.sizes).enumerate() {
                view.take(outer + i, *start as usize, *size);
            }
            return view.apply(tensor, context);
        }
        for ((start, size), len) in self.starts.iter().zip(&self.sizes).zip(lengths) {
            let len = *len as i64;
            let most = self.mode.most(len);
            if -start > most || start.saturating_add(*size as i64).saturating_sub(len) > most {
                return Err(self.wrong(&tensor.shape, "is too short to be mirrored or repeated so far"));
            }
        }
        let Some(fill) = element_bytes(tensor.dtype, self.fill) else {
            let what = format!("{} cannot fill with {}: {0} does not hold it", tensor.dtype, self.fill);
            return Err(Error::sample(format!("{}: {what}", self.name)));
        };
        let mut shape = tensor.shape.clone();
        shape.splice(outer.., self.sizes.iter().copied());
        let mut out = room(tensor.dtype, &shape, context)?;
        match fill.len() {
            1 => self.copy::<1>(tensor, outer, &fill, &mut out),
            2 => self.copy::<2>(tensor, outer, &fill, &mut out),
            4 => self.copy::<4>(tensor, outer, &fill, &mut out),
            _ => self.copy::<8>(tensor, outer, &fill, &mut out),
        }
        (tensor.shape, tensor.data) = (shape, out.into());
        Ok(())
    }

    fn wrong(&self, shape: &[usize], what: &str) -> Error {
        Error::sample(format!(
            "{}: an array of {shape:?} {what} ({:?} from {:?})",
            self.name, self.sizes, self.starts
        ))
    }

    /// The source of every place along an axis; `None` is filled.
    fn map(&self, axis: usize, len: usize) -> Vec<Option<usize>> {
        let len = len as i64;
        let one = |at: i64| match self.mode {
            Mode::Constant => (0..len).contains(&at).then_some(at as usize),
            mode => Some(mode.source(at, len) as usize),
        };
        (0..self.sizes[axis] as i64).map(|i| one(self.starts[axis] + i)).collect()
    }

    fn copy<const N: usize>(&self, tensor: &Tensor, outer: usize, fill: &[u8], out: &mut [u8]) {
        let (from, to) = (tensor.data.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
        let mut filling = [0; N];
        filling.copy_from_slice(fill);
        let lengths = &tensor.shape[outer..];
        let maps: Vec<Vec<Option<usize>>> =
            lengths.iter().enumerate().map(|(axis, len)| self.map(axis, *len)).collect();
        let (Some((last, above)), Some(width)) = (maps.split_last(), self.sizes.last()) else { return };
        let whole: usize = lengths.iter().product();
        let rows: usize = above.iter().map(Vec::len).product();
        if *width == 0 || rows == 0 {
            return;
        }
        for (number, row) in to.chunks_exact_mut(*width).enumerate() {
            let (mut rest, mut at, mut scale) =
                (number % rows, Some(number / rows * whole), lengths[lengths.len() - 1]);
            for (map, len) in above.iter().zip(lengths).rev() {
                at = at.zip(map[rest % map.len()]).map(|(at, here)| at + here * scale);
                rest /= map.len();
                scale *= len;
            }
            match at {
                Some(at) => fill_row(row, last, &from[at..], filling),
                None => row.fill(filling),
            }
        }
    }
}

/// A row of a box from a row of the array: the part inside is copied as a whole.
fn fill_row<const N: usize>(row: &mut [[u8; N]], map: &[Option<usize>], from: &[[u8; N]], filling: [u8; N]) {
    let mut at = 0;
    while at < map.len() {
        let run = match map[at] {
            Some(first) => {
                let run =
                    map[at..].iter().zip(first..).take_while(|(m, wanted)| **m == Some(*wanted)).count();
                row[at..at + run].copy_from_slice(&from[first..first + run]);
                run
            }
            None => {
                row[at] = filling;
                1
            }
        };
        at += run;
    }
}
