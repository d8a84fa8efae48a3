//! Masks over the patches of an image: which of them a model does not see.

use super::common::{need_image, round_even};
use infeed_core::{Args, Dim, Dtype, FieldSpec, Param, Result, Rng, Tensor, Value};

/// The `patches` parameter.
pub(super) const PATCHES: Param = Param {
    name: "patches",
    python: "int | Sequence[int]",
    default: None,
    about: "the grid of patches, n or (rows, columns): 14 for patches of 16 pixels in an image of 224",
};

/// More patches than any model has. A larger grid is a slip, such as a size in pixels.
const MOST: i64 = 1 << 20;

/// Rows and columns of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Grid {
    /// Reads [`PATCHES`].
    pub(super) fn of(args: &Args) -> Result<Self> {
        let (rows, columns) = match args.ints(PATCHES.name, 1)?.as_slice() {
            [n] => (*n, *n),
            [rows, columns] => (*rows, *columns),
            _ => return Err(args.error(PATCHES.name, "must be a number or (rows, columns)")),
        };
        if rows.checked_mul(columns).is_none_or(|n| n > MOST) {
            let most = format!("must make at most {MOST} patches: it counts patches, not pixels");
            return Err(args.error(PATCHES.name, &most));
        }
        Ok(Grid { rows: rows as usize, columns: columns as usize })
    }

    /// How many patches there are.
    pub(super) fn patches(self) -> usize {
        self.rows * self.columns
    }

    /// How many patches a share of them is, rounded as Python does.
    pub(super) fn share(self, ratio: f64) -> usize {
        round_even(ratio * self.patches() as f64) as usize
    }

    /// The spec of a mask that is made of an image.
    pub(super) fn spec(self, name: &str, input: &FieldSpec) -> Result<FieldSpec> {
        need_image(name, input)?;
        Ok(FieldSpec::array(Dtype::Bool, vec![Dim::Fixed(self.rows), Dim::Fixed(self.columns)]))
    }
}

/// Patches, row by row: 1 is masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchMask {
    grid: Grid,
    patches: Vec<u8>,
    masked: usize,
}

impl PatchMask {
    /// Nothing is masked.
    pub(super) fn new(grid: Grid) -> Self {
        PatchMask { grid, patches: vec![0; grid.patches()], masked: 0 }
    }

    /// How many patches are masked.
    pub(super) fn masked(&self) -> usize {
        self.masked
    }

    /// The columns `left..left + width` of a row.
    pub(super) fn run(&self, row: usize, left: usize, width: usize) -> &[u8] {
        &self.patches[row * self.grid.columns + left..][..width]
    }

    /// Masks the columns `left..left + width` of a row.
    pub(super) fn mask_run(&mut self, row: usize, left: usize, width: usize) {
        for patch in &mut self.patches[row * self.grid.columns + left..][..width] {
            self.masked += usize::from(*patch == 0);
            *patch = 1;
        }
    }

    /// Masks more patches until there are `wanted`. Each of the others is chosen with the same probability.
    pub(super) fn fill_up(&mut self, wanted: usize, rng: &mut Rng) {
        let mut free = self.patches.len() - self.masked;
        for patch in self.patches.iter_mut().filter(|p| **p == 0) {
            if self.masked >= wanted {
                break;
            }
            // Of the patches still to come, this share must be masked. It is 1 when all of them are needed.
            if rng.below(free as u64) < (wanted - self.masked) as u64 {
                *patch = 1;
                self.masked += 1;
            }
            free -= 1;
        }
    }

    /// Replaces an image by this mask. The image is never decoded for it.
    pub(super) fn replace(self, value: &mut Value) -> Result<()> {
        value.image_mut()?;
        let shape = vec![self.grid.rows, self.grid.columns];
        *value = Value::Tensor(Tensor::new(Dtype::Bool, shape, self.patches.into())?);
        Ok(())
    }
}

/// Applies a transform with these arguments to an image, and returns the mask as rows of patches.
#[cfg(test)]
pub(super) fn masked(
    entry: &infeed_core::Entry<dyn infeed_core::Transform>,
    args: &serde_json::Value,
    row: u64,
) -> Result<Vec<Vec<u8>>> {
    let transform = entry.make(args.as_object().expect("arguments are an object"))?;
    let mut scratch = infeed_core::Scratch::new();
    let mut value = Value::Image(Box::new(infeed_core::Image::raw(6, 4, 3, vec![9; 72])?));
    let mut context = infeed_core::Context { rng: Rng::at(5, 1, row, 0), scratch: &mut scratch };
    transform.apply(&mut value, &mut context)?;
    let Value::Tensor(tensor) = value else { panic!("{value:?}") };
    assert_eq!((tensor.dtype, tensor.shape.len()), (Dtype::Bool, 2));
    assert!(tensor.data.iter().all(|v| *v <= 1), "a bool is 0 or 1");
    Ok(tensor.data.chunks(tensor.shape[1]).map(<[u8]>::to_vec).collect())
}
