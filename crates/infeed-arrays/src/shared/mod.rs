//! Large samples, which several threads make together.
//!
//! A batch of few samples of 100 MB leaves most threads without work. A thread that has such a sample therefore shares it, but only
//! with threads that its run may use and that no other large sample has ([`parallel::share`]): nothing is gained where every
//! thread has a sample of its own.

use crate::{
    array::{Array, Slab},
    object::{Object, fill},
    source::SCRATCH,
};
use infeed_core::{Error, Hold, Result, parallel};
use std::sync::Mutex;

/// From this size on work is shared: less does not pay for starting threads.
const LARGE: usize = 16 << 20;
/// Bytes of a part that one thread takes at a time.
const PART: usize = 4 << 20;

/// Reads a box of an array into `out`, with other threads if it is large.
pub(crate) fn fill_shared(objects: &[Object], array: &dyn Array, slab: &Slab, out: &mut [u8]) -> Result<()> {
    let alone = |slab: &Slab, out: &mut [u8]| {
        SCRATCH.with_borrow_mut(|scratch| fill(objects, array, slab, out, scratch))
    };
    if out.len() < LARGE {
        return alone(slab, out);
    }
    let (step, parts) = cut(array, slab, PART);
    let share = parallel::share();
    if share.threads() < 2 || parts.len() < 2 {
        return alone(slab, out);
    }
    in_parts(out, step, share.threads(), |at, out| match parts.get(at) {
        Some(part) => alone(part, out),
        None => Err(Error::Internal { what: "a part outside of its box".to_owned() }),
    })?;
    Ok(())
}

/// Calls `work` for parts of `out` that have `step` bytes each, on several threads. Returns the results in order.
fn in_parts<T: Send + Sync>(
    out: &mut [u8],
    step: usize,
    threads: usize,
    work: impl Fn(usize, &mut [u8]) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let parts: Vec<Mutex<&mut [u8]>> = out.chunks_mut(step.max(1)).map(Mutex::new).collect();
    parallel::map(parts.len(), threads, |at| work(at, &mut parts[at].hold()))
}

/// The same for bytes that are only read: `work` gets where a part begins. Returns the lengths of parts beside the results.
pub(crate) fn read_shared<T: Send + Sync>(
    out: &mut [u8],
    work: impl Fn(usize, &mut [u8]) -> Result<T> + Sync,
) -> Result<Vec<(T, usize)>> {
    let share = (out.len() >= LARGE).then(parallel::share).filter(|share| share.threads() > 1);
    match share {
        None => Ok(vec![(work(0, out)?, out.len())]),
        Some(share) => in_parts(out, PART, share.threads(), |at, out| {
            let len = out.len();
            Ok((work(at * PART, out)?, len))
        }),
    }
}

/// Copies bytes, with other threads if they are many.
pub(crate) fn copy_shared(from: &[u8], out: &mut [u8]) -> Result<()> {
    if out.len() < LARGE {
        out.copy_from_slice(from);
        return Ok(());
    }
    read_shared(out, |at, out| {
        out.copy_from_slice(&from[at..at + out.len()]);
        Ok(())
    })?;
    Ok(())
}

/// Cuts a box into parts that lie one after the other in its output, along the first axis that has more than one step, at the
/// borders of chunks; each has about `least` bytes or one step of chunks. Returns the bytes of each part but the last, and the parts.
fn cut(array: &dyn Array, slab: &Slab, least: usize) -> (usize, Vec<Slab>) {
    let whole = || (usize::MAX, vec![slab.clone()]);
    let Some(axis) = slab.count.iter().position(|count| *count > 1) else { return whole() };
    let (Some(start), Some(count)) = (slab.start.get(axis), slab.count.get(axis)) else { return whole() };
    let Some(side) = array.chunk().and_then(|chunk| chunk.get(axis)).filter(|side| **side > 0) else {
        return whole();
    };
    // All parts but the last must be equally long, so a box that begins inside of a chunk is not cut.
    if start % side != 0 {
        return whole();
    }
    let inner = slab.elements() / count * array.element().size() as u64;
    let chunks = (least as u64 / (inner * side).max(1)).max(1);
    let steps = side.saturating_mul(chunks);
    let Ok(bytes) = usize::try_from(inner.saturating_mul(steps)) else { return whole() };
    let part = |from: u64| {
        let mut part = slab.clone();
        part.start[axis] = start + from;
        part.count[axis] = steps.min(count - from);
        part
    };
    let mut parts = Vec::new();
    let mut from = 0;
    while from < *count {
        parts.push(part(from));
        from += steps;
    }
    (bytes, parts)
}

#[cfg(test)]
mod tests;
