//! Copies a box out of one array into a box of another.

/// How far apart neighbours along each axis are, in elements.
pub(super) fn strides(shape: &[u64]) -> Vec<u64> {
    let mut out = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = u64::saturating_mul(out[axis], shape[axis]);
    }
    out
}

/// Calls `run` with (first element in the source, first element in the target, number of elements) for every run of
/// elements that are neighbours in both. There are as few runs as can be.
pub(super) fn runs(
    count: &[u64],
    source: (u64, &[u64]),
    target: (u64, &[u64]),
    mut run: impl FnMut(u64, u64, u64),
) {
    if count.contains(&0) {
        return;
    }
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
    let mut at = vec![0u64; outer];
    let (mut from, mut to) = (source.0, target.0);
    loop {
        run(from, to, len);
        let mut axis = outer;
        loop {
            let Some(before) = axis.checked_sub(1) else { return };
            axis = before;
            at[axis] += 1;
            from += source.1[axis];
            to += target.1[axis];
            if at[axis] < count[axis] {
                break;
            }
            from -= source.1[axis] * count[axis];
            to -= target.1[axis] * count[axis];
            at[axis] = 0;
        }
    }
}

/// Copies the bytes from `offset` of every element of `wide` bytes; those of the target are as wide as `narrow`.
pub(super) fn pick(source: &[u8], wide: usize, offset: usize, narrow: usize, target: &mut [u8]) {
    for (from, to) in source.chunks_exact(wide).zip(target.chunks_exact_mut(narrow)) {
        if let Some(part) = from.get(offset..offset + narrow) {
            to.copy_from_slice(part);
        }
    }
}

/// Fills memory with copies of one element.
pub(super) fn repeat(element: &[u8], target: &mut [u8]) {
    if element.iter().all(|byte| *byte == element[0]) {
        target.fill(element[0]);
        return;
    }
    target.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: &[u64], from: &[u64], to: &[u64]) -> Vec<(u64, u64, u64)> {
        let mut out = Vec::new();
        runs(count, (5, &strides(from)), (0, &strides(to)), |a, b, n| out.push((a, b, n)));
        out
    }

    #[test]
    fn neighbours_are_joined() {
        assert_eq!(all(&[2, 3, 4], &[9, 3, 4], &[2, 3, 4]), [(5, 0, 24)]);
        assert_eq!(all(&[2, 3, 4], &[9, 5, 4], &[2, 3, 4]), [(5, 0, 12), (25, 12, 12)]);
        assert_eq!(all(&[2, 1, 2], &[2, 8, 3], &[2, 1, 2]), [(5, 0, 2), (29, 2, 2)]);
        assert_eq!(all(&[2, 2, 1], &[2, 2, 3], &[2, 2, 1]), [(5, 0, 1), (8, 1, 1), (11, 2, 1), (14, 3, 1)]);
        assert_eq!(all(&[], &[], &[]), [(5, 0, 1)]);
        assert_eq!(all(&[0, 3], &[2, 3], &[0, 3]), []);
    }
}
