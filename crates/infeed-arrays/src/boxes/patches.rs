//! Patches: where the boxes lie that are cut out of a row.

use infeed_core::Rng;

/// What becomes of the end of an axis that the grid does not meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    /// It is left out.
    Drop,
    /// The last patch is moved back, so that it ends with the axis.
    Shift,
    /// The last patch is filled up.
    Pad,
}

/// Patches over the last axes of a row: a grid of them, or places drawn at random.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Patches {
    /// The sides of a patch.
    pub(crate) size: Vec<u64>,
    /// From one patch of the grid to the next.
    pub(crate) stride: Vec<u64>,
    pub(crate) edge: Edge,
    /// What fills patches up.
    pub(crate) fill: f64,
    /// How many places are drawn for each row, and from which seed; `None` for the grid.
    pub(crate) drawn: Option<(u64, u64)>,
}

impl Patches {
    /// Whether a patch fits between these sides, or is filled up.
    fn fits(&self, sides: &[u64]) -> bool {
        let inside = |(side, size): (&u64, &u64)| side >= size || self.edge == Edge::Pad && *side > 0;
        sides.iter().zip(&self.size).all(inside)
    }

    /// Patches of the grid along an axis.
    fn along(&self, axis: usize, side: u64) -> u64 {
        let (size, stride) = (self.size[axis], self.stride[axis]);
        let rest = side.saturating_sub(size);
        match self.edge {
            Edge::Drop => rest / stride + 1,
            Edge::Shift => rest.div_ceil(stride) + 1,
            // A stride beyond the patch may step over the end.
            Edge::Pad => (rest.div_ceil(stride) + 1).min(side.div_ceil(stride)),
        }
    }

    /// How many patches a row of these sides has; `None` if nobody can count them.
    pub(crate) fn count(&self, sides: &[u64]) -> Option<u64> {
        match self.drawn {
            _ if !self.fits(sides) => Some(0),
            Some((count, _)) => Some(count),
            None => {
                let along = sides.iter().enumerate().map(|(axis, side)| self.along(axis, *side));
                along.into_iter().try_fold(1u64, |all, n| all.checked_mul(n))
            }
        }
    }

    /// Where patch `n` of row `row` begins. Drawn places depend on seed, row and `n` and on nothing else.
    pub(crate) fn origin(&self, sides: &[u64], row: u64, mut n: u64) -> Vec<u64> {
        let last = |axis: usize| sides[axis].saturating_sub(self.size[axis]);
        if let Some((_, seed)) = self.drawn {
            let mut rng = Rng::at(seed, 0, row, n);
            return (0..sides.len()).map(|axis| rng.below(last(axis) + 1)).collect();
        }
        let mut out = vec![0; sides.len()];
        for axis in (0..sides.len()).rev() {
            let along = self.along(axis, sides[axis]);
            let at = (n % along) * self.stride[axis];
            out[axis] = if self.edge == Edge::Shift { at.min(last(axis)) } else { at };
            n /= along;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn edges() -> impl Strategy<Value = Edge> {
        prop_oneof![Just(Edge::Drop), Just(Edge::Shift), Just(Edge::Pad)]
    }

    proptest! {
        #[test]
        fn patches_are_inside_or_padded_and_all_different(
            axes in prop::collection::vec((0u64..12, 1u64..6, 1u64..7), 1..4), edge in edges(),
        ) {
            let sides: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
            let (size, stride): (Vec<u64>, Vec<u64>) = axes.iter().map(|axis| (axis.1, axis.2)).unzip();
            let patches = Patches { size: size.clone(), stride: stride.clone(), edge, fill: 0.0, drawn: None };
            let count = patches.count(&sides).unwrap();
            let small = sides.iter().zip(&size).any(|(side, size)| side < size);
            prop_assert_eq!(count == 0, sides.contains(&0) || small && edge != Edge::Pad);
            let mut seen = HashSet::new();
            let mut covered: Vec<HashSet<u64>> = vec![HashSet::new(); sides.len()];
            for n in 0..count {
                let origin = patches.origin(&sides, 0, n);
                for axis in 0..sides.len() {
                    let end = origin[axis] + size[axis];
                    prop_assert!(origin[axis] < sides[axis]);
                    prop_assert!(end <= sides[axis] || edge == Edge::Pad);
                    let on_grid = origin[axis].is_multiple_of(stride[axis]);
                    prop_assert!(on_grid || edge == Edge::Shift && end == sides[axis]);
                    covered[axis].extend(origin[axis]..end.min(sides[axis]));
                }
                prop_assert!(seen.insert(origin), "twice");
            }
            // A grid covers a product: it is enough to look at each axis.
            for axis in 0..sides.len() {
                let close = stride[axis] <= size[axis];
                if count > 0 && close && edge != Edge::Drop {
                    prop_assert_eq!(covered[axis].len() as u64, sides[axis]);
                }
                if count > 0 && edge == Edge::Drop {
                    let alone = (0..sides[axis]).step_by(stride[axis] as usize);
                    let fit = alone.filter(|at| at + size[axis] <= sides[axis]).count();
                    let own: HashSet<u64> = seen.iter().map(|origin| origin[axis]).collect();
                    prop_assert_eq!(own.len(), fit);
                }
            }
        }

        #[test]
        fn drawn_places_are_inside_and_stay(
            side in 1u64..40, size in 1u64..20, seed: u64, row: u64, n in 0u64..50,
        ) {
            let patches =
                Patches { size: vec![size, 3], stride: vec![1, 1], edge: Edge::Pad, fill: 0.0, drawn: Some((50, seed)) };
            let sides = [side, 9];
            prop_assert_eq!(patches.count(&sides), Some(50));
            let origin = patches.origin(&sides, row, n);
            prop_assert!(origin[0] + size <= side || origin[0] == 0);
            prop_assert!(origin[1] + 3 <= 9);
            prop_assert_eq!(origin, patches.origin(&sides, row, n));
        }
    }

    #[test]
    fn drawn_places_are_even_and_pinned() {
        let patches =
            Patches { size: vec![4], stride: vec![1], edge: Edge::Drop, fill: 0.0, drawn: Some((3, 7)) };
        let mut counts = [0; 7];
        for row in 0..7_000 {
            counts[patches.origin(&[10], row, row % 3)[0] as usize] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        let first: Vec<u64> = (0..4).map(|n| patches.origin(&[1000], 5, n)[0]).collect();
        assert_eq!(first, PINNED, "the places of patches changed: a change is breaking");
    }

    const PINNED: [u64; 4] = [100, 226, 959, 263];

    #[test]
    fn grids_that_nobody_can_count() {
        let stride = vec![1; 3];
        let patches = Patches { size: vec![1; 3], stride, edge: Edge::Drop, fill: 0.0, drawn: None };
        assert_eq!(patches.count(&[1 << 40; 3]), None);
    }
}
