//! `RandomPatchMask`: hides patches anywhere in an image, as masked autoencoders do.

use super::patches::{Grid, PATCHES, PatchMask};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "RandomPatchMask",
    about: "make a mask of patches of an image: a fixed share of them, at random places (MAE)",
    params: &[
        PATCHES,
        Param {
            name: "ratio",
            python: "float",
            default: Some("0.75"),
            about: "share of the patches that are masked",
        },
    ],
    build,
};

#[derive(Debug)]
struct RandomPatchMask {
    grid: Grid,
    /// How many patches are masked.
    wanted: usize,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let grid = Grid::of(args)?;
    Ok(Box::new(RandomPatchMask { grid, wanted: grid.share(args.probability("ratio")?) }))
}

impl Transform for RandomPatchMask {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        self.grid.spec("RandomPatchMask", input)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let mut mask = PatchMask::new(self.grid);
        mask.fill_up(self.wanted, &mut context.rng);
        mask.replace(value)
    }
}

#[cfg(test)]
mod tests;
