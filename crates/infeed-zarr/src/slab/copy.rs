//! Copies a box out of one array into a box of another.

/// How far apart neighbours along each axis are, in elements.
pub(crate) fn strides(shape: &[u64]) -> Vec<u64> {
    let mut out = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = u64::saturating_mul(out[axis], shape[axis]);
    }
    out
}

/// Where a box begins on either side, and how far apart its neighbours are there, in elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides<'a> {
    pub(crate) source: (u64, &'a [u64]),
    pub(crate) target: (u64, &'a [u64]),
}

/// Calls `run` with (first element in the source, first element in the target, number of elements) for every run of
/// elements that are neighbours in both. There are as few runs as can be.
pub(crate) fn runs(count: &[u64], sides: Sides<'_>, mut run: impl FnMut(u64, u64, u64)) {
    if count.contains(&0) {
        return;
    }
    let Sides { source, target } = sides;
    // Inner axes that lie behind each other in both are one.
    let mut len = 1;
    let mut outer = count.len();
    while outer > 0 {
        let axis = outer - 1;
        if count[axis] > 1 && (source.1[axis] != len || target.1[axis] != len) {
            break;
        }
        len *= count[axis];
        outer = axis;
    }
    walk(&count[..outer], sides, |from, to| run(from, to, len));
}

/// Calls `visit` with both places of every element of a box.
fn walk(count: &[u64], sides: Sides<'_>, mut visit: impl FnMut(u64, u64)) {
    let Sides { source: (mut from, source), target: (mut to, target) } = sides;
    let mut at = vec![0u64; count.len()];
    loop {
        visit(from, to);
        let mut axis = count.len();
        loop {
            let Some(before) = axis.checked_sub(1) else { return };
            axis = before;
            at[axis] += 1;
            from += source[axis];
            to += target[axis];
            if at[axis] < count[axis] {
                break;
            }
            from -= source[axis] * count[axis];
            to -= target[axis] * count[axis];
            at[axis] = 0;
        }
    }
}

/// Copies elements of `size` bytes. `false` if the box is not inside of both.
pub(crate) fn copy_box(count: &[u64], sides: Sides<'_>, size: usize, data: &[u8], out: &mut [u8]) -> bool {
    if count.contains(&0) {
        return true;
    }
    let last = |(first, strides): (u64, &[u64])| {
        count
            .iter()
            .zip(strides)
            .try_fold(first, |at, (&n, &stride)| at.checked_add((n - 1).checked_mul(stride)?))
    };
    let end = |side| usize::try_from(last(side)?.checked_add(1)?).ok()?.checked_mul(size);
    let inside = end(sides.source).is_some_and(|end| end <= data.len())
        && end(sides.target).is_some_and(|end| end <= out.len());
    if !inside || size == 0 {
        return false;
    }
    // Axes that are turned around on one side: squares of them are copied while both sides of the square are in the cache.
    let inner = count.iter().rposition(|&n| n > 1);
    let turned = inner.filter(|&axis| sides.source.1[axis] != 1 && sides.target.1[axis] == 1);
    let other = count.iter().zip(sides.source.1).position(|(&n, &stride)| n > 1 && stride == 1);
    if let (Some(inner), Some(other)) = (turned, other) {
        match size {
            1 => squares::<1>(count, sides, (other, inner), data, out),
            2 => squares::<2>(count, sides, (other, inner), data, out),
            4 => squares::<4>(count, sides, (other, inner), data, out),
            8 => squares::<8>(count, sides, (other, inner), data, out),
            16 => squares::<16>(count, sides, (other, inner), data, out),
            _ => plainly(count, sides, size, data, out),
        }
    } else {
        plainly(count, sides, size, data, out);
    }
    true
}

fn plainly(count: &[u64], sides: Sides<'_>, size: usize, data: &[u8], out: &mut [u8]) {
    runs(count, sides, |from, to, len| {
        let (from, to, len) = (from as usize * size, to as usize * size, len as usize * size);
        out[to..to + len].copy_from_slice(&data[from..from + len]);
    });
}

/// Side of a square, in elements.
const SQUARE: u64 = 16;

/// Copies squares of two axes, of which one has its neighbours beside each other in the source and the other in the target.
fn squares<const N: usize>(
    count: &[u64],
    sides: Sides<'_>,
    axes: (usize, usize),
    data: &[u8],
    out: &mut [u8],
) {
    let (data, out) = (data.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
    let mut outer = count.to_vec();
    outer[axes.0] = 1;
    outer[axes.1] = 1;
    let (rows, columns) = (count[axes.0], count[axes.1]);
    let (apart, step) = (sides.source.1[axes.1] as usize, sides.target.1[axes.0] as usize);
    walk(&outer, sides, |from, to| {
        let (from, to) = (from as usize, to as usize);
        for row in (0..rows).step_by(SQUARE as usize) {
            let bottom = (row + SQUARE).min(rows) as usize;
            for column in (0..columns).step_by(SQUARE as usize) {
                let right = (column + SQUARE).min(columns) as usize;
                for row in row as usize..bottom {
                    for column in column as usize..right {
                        out[to + row * step + column] = data[from + column * apart + row];
                    }
                }
            }
        }
    });
}

/// Fills a box with copies of one element.
pub(crate) fn fill_box(count: &[u64], target: (u64, &[u64]), element: &[u8], out: &mut [u8]) {
    let even = element.iter().all(|byte| *byte == element[0]);
    runs(count, Sides { source: target, target }, |_, to, len| {
        let place = usize::try_from(to).ok().zip(usize::try_from(len).ok());
        let part = place.and_then(|(to, len)| out.get_mut(to * element.len()..(to + len) * element.len()));
        match part {
            Some(part) if even => part.fill(element[0]),
            Some(part) => part.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element)),
            None => {}
        }
    });
}

/// Copies the bytes from `offset` of every element of `wide` bytes; those of the target are as wide as `narrow`.
pub(super) fn pick(source: &[u8], wide: usize, offset: usize, narrow: usize, target: &mut [u8]) {
    for (from, to) in source.chunks_exact(wide).zip(target.chunks_exact_mut(narrow)) {
        if let Some(part) = from.get(offset..offset + narrow) {
            to.copy_from_slice(part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_in_every_order() {
        let shape = [5, 18, 33];
        for axes in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let stored: Vec<u64> = axes.iter().map(|&axis| shape[axis]).collect();
            let mut source = vec![0; 3];
            axes.iter().zip(strides(&stored)).for_each(|(&axis, stride)| source[axis] = stride);
            let data: Vec<u8> = (0..5 * 18 * 33u32).flat_map(u32::to_le_bytes).collect();
            let (start, count) = ([1, 0, 2], [4, 18, 30]);
            let from = start.iter().zip(&source).map(|(a, b)| a * b).sum();
            let target = strides(&count);
            let mut out = vec![0; 4 * 18 * 30 * 4];
            let sides = Sides { source: (from, &source), target: (0, &target) };
            assert!(copy_box(&count, sides, 4, &data, &mut out));
            for (number, element) in out.chunks(4).enumerate() {
                let number = number as u64;
                let at = [number / 540 + 1, number / 30 % 18, number % 30 + 2];
                let place: u64 = at.iter().zip(&source).map(|(a, b)| a * b).sum();
                assert_eq!(element, &data[place as usize * 4..][..4], "{axes:?} {at:?}");
            }
            assert!(!copy_box(&[6, 18, 33], sides, 4, &data, &mut out));
        }
    }
}
