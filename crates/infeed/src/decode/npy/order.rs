//! Converts byte order and Fortran order.

use infeed_core::{Result, memory};

/// Reverses the bytes of every element.
pub(super) fn swap(data: &[u8], size: usize) -> Result<Vec<u8>> {
    let mut out = memory::with_capacity(data.len())?;
    out.extend_from_slice(data);
    for element in out.chunks_exact_mut(size) {
        element.reverse();
    }
    Ok(out)
}

/// Converts an array from Fortran order (first index fastest) to C order (last index fastest).
pub(super) fn rows_first(data: &[u8], size: usize, shape: &[usize]) -> Result<Vec<u8>> {
    match size {
        1 => transpose::<1>(data, shape),
        2 => transpose::<2>(data, shape),
        4 => transpose::<4>(data, shape),
        _ => transpose::<8>(data, shape),
    }
}

fn transpose<const SIZE: usize>(data: &[u8], shape: &[usize]) -> Result<Vec<u8>> {
    let mut out = memory::with_capacity(data.len())?;
    let elements = data.as_chunks::<SIZE>().0;
    let Some((&last, outer)) = shape.split_last() else { return Ok(data.to_vec()) };
    if elements.is_empty() {
        return Ok(out);
    }
    // The stride of each axis in the source.
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |step, n| {
            let this = *step;
            *step *= n;
            Some(this)
        })
        .collect();
    let step = strides[outer.len()];
    let mut index = vec![0; outer.len()];
    let mut start = 0;
    loop {
        for i in 0..last {
            out.extend_from_slice(&elements[start + i * step]);
        }
        // Counts up like an odometer, starting with the last outer axis.
        let mut axis = outer.len();
        loop {
            if axis == 0 {
                return Ok(out);
            }
            axis -= 1;
            index[axis] += 1;
            start += strides[axis];
            if index[axis] < outer[axis] {
                break;
            }
            start -= strides[axis] * outer[axis];
            index[axis] = 0;
        }
    }
}
