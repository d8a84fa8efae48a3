//! `BlockMask`: hides rectangles of patches, as BEiT, iBOT and DINOv2 do.
//!
//! A patch alone can be guessed from its neighbours; a block cannot. Blocks of random area, shape and place are laid over
//! the grid, and may overlap, until the wanted number of patches is masked. A block that would mask too many is drawn again.
//! When no block fits any more, single patches complete the number: models take masks of a batch as one list, so it is exact.

use super::{
    common::round_even,
    patches::{Grid, PATCHES, PatchMask},
};
use infeed_core::{Args, Context, Entry, FieldSpec, Param, Result, Rng, Transform, Value};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "BlockMask",
    about: "make a mask of patches of an image: rectangles of them, an exact number in all (BEiT, iBOT, DINOv2)",
    params: &[
        PATCHES,
        Param {
            name: "ratio",
            python: "float | Sequence[float]",
            default: Some("0.4"),
            about: "share of the patches that are masked, or (low, high) to draw one for each image",
        },
        Param {
            name: "min_patches",
            python: "int",
            default: Some("16"),
            about: "smallest area of a block, as long as so many patches are still to be masked",
        },
        Param {
            name: "max_patches",
            python: "int | None",
            default: Some("null"),
            about: "largest area of a block; None: as many patches as are still to be masked",
        },
        Param {
            name: "min_aspect",
            python: "float",
            default: Some("0.3"),
            about: "smallest height / width of a block; the largest is 1 / min_aspect",
        },
        Param {
            name: "p",
            python: "float",
            default: Some("1.0"),
            about: "probability of masking; otherwise no patch is masked",
        },
    ],
    build,
};

/// How often a block is drawn again before single patches complete the mask.
const ATTEMPTS: usize = 10;

#[derive(Debug)]
struct BlockMask {
    grid: Grid,
    ratio: (f64, f64),
    /// The smallest and the largest area of a block.
    areas: (usize, usize),
    /// The smallest aspect. Its inverse is the largest.
    min_aspect: f64,
    p: f64,
}

/// A rectangle of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    top: usize,
    left: usize,
    height: usize,
    width: usize,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let grid = Grid::of(args)?;
    let ratio = match args.floats("ratio")?.as_slice() {
        [one] => (*one, *one),
        [low, high] => (*low, *high),
        _ => (1.0, 0.0),
    };
    if !(0.0 <= ratio.0 && ratio.0 <= ratio.1 && ratio.1 <= 1.0) {
        return Err(args.error("ratio", "must be a share or (low, high) with 0 <= low <= high <= 1"));
    }
    let least = args.int("min_patches", 1)?;
    let most = if args.is_none("max_patches") { i64::MAX } else { args.int("max_patches", 1)? };
    if most < least {
        return Err(args.error("max_patches", &format!("must be at least min_patches, which is {least}")));
    }
    let min_aspect = args.float("min_aspect")?;
    if !(0.0 < min_aspect && min_aspect <= 1.0) {
        return Err(args.error("min_aspect", "must be above 0 and at most 1"));
    }
    let areas = (least as usize, most as usize);
    Ok(Box::new(BlockMask { grid, ratio, areas, min_aspect, p: args.probability("p")? }))
}

impl BlockMask {
    /// Draws a block that masks at most `room` patches more, and at least one.
    fn draw(&self, mask: &PatchMask, room: usize, rng: &mut Rng) -> Option<Block> {
        let room = room.min(self.areas.1);
        let least = self.areas.0.min(room);
        let widest = -self.min_aspect.ln();
        for _ in 0..ATTEMPTS {
            let area = rng.uniform(least as f64, room as f64);
            let aspect = rng.uniform(-widest, widest).exp();
            let side = |length: f64| (round_even(length.sqrt()) as usize).max(1);
            let (height, width) = (side(area * aspect), side(area / aspect));
            if height > self.grid.rows || width > self.grid.columns {
                continue;
            }
            let top = rng.below((self.grid.rows - height) as u64 + 1) as usize;
            let left = rng.below((self.grid.columns - width) as u64 + 1) as usize;
            let block = Block { top, left, height, width };
            if (1..=room).contains(&block.adds(mask)) {
                return Some(block);
            }
        }
        None
    }

    /// Masks `wanted` patches.
    fn cover(&self, wanted: usize, rng: &mut Rng) -> PatchMask {
        let mut mask = PatchMask::new(self.grid);
        while mask.masked() < wanted {
            let Some(block) = self.draw(&mask, wanted - mask.masked(), rng) else { break };
            block.lay(&mut mask);
        }
        mask.fill_up(wanted, rng);
        mask
    }
}

impl Block {
    fn rows(self) -> std::ops::Range<usize> {
        self.top..self.top + self.height
    }

    /// How many patches it masks that were not.
    fn adds(self, mask: &PatchMask) -> usize {
        let free = |row| mask.run(row, self.left, self.width).iter().filter(|v| **v == 0).count();
        self.rows().map(free).sum()
    }

    fn lay(self, mask: &mut PatchMask) {
        self.rows().for_each(|row| mask.mask_run(row, self.left, self.width));
    }
}

impl Transform for BlockMask {
    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        self.grid.spec("BlockMask", input)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let rng = &mut context.rng;
        let masks = rng.chance(self.p);
        let ratio = rng.uniform(self.ratio.0, self.ratio.1);
        let wanted = if masks { self.grid.share(ratio) } else { 0 };
        self.cover(wanted, rng).replace(value)
    }
}

#[cfg(test)]
mod tests;
