//! Copies boxes between memory with strides.

/// Elements that are moved together when axes change places: a tile of them stays in the first cache.
const TILE: u64 = 16;

/// One axis of a copy: how many elements, and how far apart neighbours are in the source and in the target, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) count: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Axes without those of one element, and with neighbours that lie behind each other in both made one.
fn merged(axes: &[Axis], size: u64) -> (Vec<Axis>, u64) {
    let mut out: Vec<Axis> = axes.iter().copied().filter(|axis| axis.count != 1).collect();
    // The innermost run of bytes.
    let mut run = size;
    while let Some(last) = out.last()
        && last.from == run
        && last.to == run
    {
        run *= last.count;
        out.pop();
    }
    (out, run)
}

/// Copies a box of elements of `size` bytes; `turned` reverses the bytes of each. The axes are those of the target, whose
/// elements lie in C order. Returns `None` if something lies outside of `source` or `target`.
pub(crate) fn copy(axes: &[Axis], size: usize, turned: bool, source: &[u8], target: &mut [u8]) -> Option<()> {
    if axes.iter().any(|axis| axis.count == 0) {
        return Some(());
    }
    let (outer, run) = merged(axes, size as u64);
    let run = usize::try_from(run).ok()?;
    // Runs that are long enough are copied whole and turned where they are.
    if run > size || outer.is_empty() || size > 8 {
        return runs(&outer, Run { bytes: run, size, turned }, (0, 0), source, target);
    }
    match size {
        1 => elements::<1>(&outer, turned, source, target),
        2 => elements::<2>(&outer, turned, source, target),
        4 => elements::<4>(&outer, turned, source, target),
        8 => elements::<8>(&outer, turned, source, target),
        _ => runs(&outer, Run { bytes: run, size, turned }, (0, 0), source, target),
    }
}

/// Reverses the bytes of each element.
pub(super) fn turn(out: &mut [u8], size: usize, turned: bool) {
    match (turned, size) {
        (false, _) => {}
        (_, 2) => out.as_chunks_mut::<2>().0.iter_mut().for_each(|n| n.reverse()),
        (_, 4) => out.as_chunks_mut::<4>().0.iter_mut().for_each(|n| n.reverse()),
        (_, 8) => out.as_chunks_mut::<8>().0.iter_mut().for_each(|n| n.reverse()),
        _ => out.chunks_exact_mut(size.max(1)).for_each(|n| n.reverse()),
    }
}

/// Bytes that lie behind each other in both, and what is done to their elements.
#[derive(Debug, Clone, Copy)]
struct Run {
    bytes: usize,
    size: usize,
    turned: bool,
}

impl Run {
    #[inline]
    fn copy(self, from: u64, to: u64, source: &[u8], target: &mut [u8]) -> Option<()> {
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        let out = target.get_mut(to..to.checked_add(self.bytes)?)?;
        out.copy_from_slice(source.get(from..from.checked_add(self.bytes)?)?);
        turn(out, self.size, self.turned);
        Some(())
    }
}

fn runs(axes: &[Axis], run: Run, (from, to): (u64, u64), source: &[u8], target: &mut [u8]) -> Option<()> {
    match axes {
        [] => run.copy(from, to, source, target),
        // Most runs are copied here: rows of a patch are short.
        [axis] => {
            (0..axis.count).try_for_each(|n| run.copy(from + n * axis.from, to + n * axis.to, source, target))
        }
        [axis, inner @ ..] => (0..axis.count)
            .try_for_each(|n| runs(inner, run, (from + n * axis.from, to + n * axis.to), source, target)),
    }
}

/// Element by element. The two axes along which source and target are walked fastest are walked in tiles, so that no cache line
/// is fetched for one element alone.
fn elements<const N: usize>(axes: &[Axis], turned: bool, source: &[u8], target: &mut [u8]) -> Option<()> {
    let (last, outer) = axes.split_last()?;
    let near = (0..outer.len()).min_by_key(|at| outer[*at].from);
    let (near, rest) = match near {
        Some(at) if outer[at].from < last.from => {
            let mut rest = outer.to_vec();
            (rest.remove(at), rest)
        }
        _ => (Axis { count: 1, from: 0, to: 0 }, outer.to_vec()),
    };
    let mut tile = |from: u64, to: u64| {
        for first in (0..near.count).step_by(TILE as usize) {
            for start in (0..last.count).step_by(TILE as usize) {
                for a in first..near.count.min(first + TILE) {
                    for b in start..last.count.min(start + TILE) {
                        let from = usize::try_from(from + a * near.from + b * last.from).ok()?;
                        let to = usize::try_from(to + a * near.to + b * last.to).ok()?;
                        let mut one: [u8; N] = *source.get(from..)?.first_chunk()?;
                        if turned {
                            one.reverse();
                        }
                        *target.get_mut(to..)?.first_chunk_mut()? = one;
                    }
                }
            }
        }
        Some(())
    };
    walk(&rest, 0, 0, &mut tile)
}

fn walk(axes: &[Axis], from: u64, to: u64, each: &mut dyn FnMut(u64, u64) -> Option<()>) -> Option<()> {
    let Some((axis, inner)) = axes.split_first() else { return each(from, to) };
    for n in 0..axis.count {
        walk(inner, from + n * axis.from, to + n * axis.to, each)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(count: u64, from: u64, to: u64) -> Axis {
        Axis { count, from, to }
    }

    #[test]
    fn neighbours_are_one_run() {
        assert_eq!(merged(&[axis(2, 48, 48), axis(3, 16, 16), axis(4, 4, 4)], 4), (vec![], 96));
        assert_eq!(
            merged(&[axis(2, 80, 48), axis(3, 16, 16), axis(4, 4, 4)], 4),
            (vec![axis(2, 80, 48)], 48)
        );
        assert_eq!(merged(&[axis(2, 4, 8), axis(1, 7, 4)], 4), (vec![axis(2, 4, 8)], 4));
    }

    #[test]
    fn axes_change_places_and_bytes_are_turned() {
        // 40 x 50 numbers in Fortran order.
        let (a, b) = (40u64, 50u64);
        let source: Vec<u8> = (0..a * b).flat_map(|n| (n as u16).to_be_bytes()).collect();
        let mut target = vec![0; source.len()];
        copy(&[axis(a, 2, b * 2), axis(b, a * 2, 2)], 2, true, &source, &mut target).unwrap();
        for i in 0..a {
            for j in 0..b {
                let at = (i * b + j) as usize * 2;
                assert_eq!(u16::from_le_bytes([target[at], target[at + 1]]), (j * a + i) as u16);
            }
        }
    }

    #[test]
    fn what_is_outside_is_refused() {
        let mut target = [0; 8];
        assert_eq!(copy(&[axis(3, 4, 4)], 4, false, &[0; 12], &mut target), None);
        assert_eq!(copy(&[axis(2, 40, 4)], 4, false, &[0; 12], &mut target), None);
        assert_eq!(copy(&[axis(0, 40, 4)], 4, false, &[], &mut target), Some(()));
        assert_eq!(copy(&[], 3, true, &[1, 2, 3], &mut target), Some(()));
        assert_eq!(target[..3], [3, 2, 1]);
    }
}
