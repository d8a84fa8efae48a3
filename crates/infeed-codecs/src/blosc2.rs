//! `blosc2`: a frame with one chunk of the second generation in it.
//!
//! A frame begins with a head of fixed fields in MessagePack (so every number has a byte before it that says its kind),
//! has chunks behind that, and then where they are. HDF5 keeps one chunk per frame, right behind the head. If the chunk has
//! several axes, it is cut into small boxes once more (`b2nd`): box after box, each as long as its neighbours, so that
//! those at the edges are filled up.

use crate::{Error, Result, Scratch, blosc};

/// A description of boxes inside of a chunk.
struct Boxes {
    chunk: Vec<usize>,
    inner: Vec<usize>,
}

fn short() -> Error {
    Error::from("the blosc2 frame is cut short")
}

/// Undoes the filter.
pub fn undo(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result {
    if input.get(2..10) != Some(b"b2frame\0") {
        return blosc::undo(input, out, scratch);
    }
    let number = |at: usize| -> Result<u64> {
        let bytes = input.get(at..at + 8).and_then(|b| b.first_chunk::<8>()).ok_or_else(short)?;
        Ok(u64::from_be_bytes(*bytes))
    };
    let small = |at: usize| Ok::<u64, Error>(number(at)? >> 32);
    let (head, total, chunk) = (small(11)? as usize, number(30)?, small(58)?);
    let (frame, data) = input.split_at_checked(head).ok_or_else(short)?;
    if total > chunk {
        return Err("blosc2 frames of several chunks are not known here".into());
    }
    if number(39)? == 0 && total > 0 {
        // No chunk is stored. Where it would be stands a sign for its one value, in the highest byte.
        let mut place = [0; 8];
        let made = blosc::undo(data, &mut place, scratch)?;
        return match place[7] {
            sign if made == 8 && sign & 0x80 != 0 => blosc::repeated(sign & 7, &[], small(48)? as usize, out),
            _ => Err("a blosc2 frame without a chunk".into()),
        };
    }
    let Some(boxes) = boxes(frame)? else { return blosc::undo(data, out, scratch) };
    let elements = boxes.chunk.iter().try_fold(1usize, |all, &n| all.checked_mul(n)).unwrap_or(usize::MAX);
    let size = out.len() / elements.max(1);
    if size == 0 || elements.checked_mul(size) != Some(out.len()) {
        return Err("the boxes of a blosc2 chunk do not fit it".into());
    }
    let filled_up = boxes.chunk.iter().zip(&boxes.inner).map(|(c, i)| c.next_multiple_of(*i));
    // Boxes are not larger than the chunk, so it is less than doubled along each axis.
    let most = out.len().saturating_mul(1 << boxes.chunk.len().min(16));
    let len = filled_up.fold(size, |all, n| all.saturating_mul(n));
    if len > most || total != len as u64 {
        return Err("the boxes of a blosc2 chunk do not fit it".into());
    }
    let mut filled = std::mem::take(&mut scratch.boxes);
    filled.resize(filled.len().max(len), 0);
    let made = blosc::undo(data, &mut filled[..len], scratch);
    if made == Ok(len) {
        boxes.join(&filled[..len], size, out);
    }
    scratch.boxes = filled;
    match made? == len {
        true => Ok(out.len()),
        false => Err("a blosc2 chunk has the wrong size".into()),
    }
}

/// Finds the description in the head of a frame: version, axes, shape, shape of the chunk, shape of its boxes.
fn boxes(frame: &[u8]) -> Result<Option<Boxes>> {
    const NAME: &[u8] = b"\xa4b2nd\xd2";
    let Some(at) = frame.windows(NAME.len()).position(|part| part == NAME) else { return Ok(None) };
    let wrong = || Error::from("the description of a blosc2 chunk's boxes makes no sense");
    let small = |at: usize| -> Result<usize> {
        let bytes = frame.get(at..at + 4).and_then(|b| b.first_chunk::<4>()).ok_or_else(short)?;
        usize::try_from(i32::from_be_bytes(*bytes)).map_err(|_| wrong())
    };
    // The list of descriptions tells where it is; there it has a kind, a length, and then its fields.
    let start = small(at + NAME.len())? + 5;
    let rank = usize::from(*frame.get(start + 2).ok_or_else(short)?);
    if rank == 0 || rank > 8 {
        return Err(wrong());
    }
    let shape_len = 1 + 9 * rank;
    let list = |from: usize| -> Result<Vec<usize>> {
        (0..rank)
            .map(|axis| small(from + 1 + axis * 5 + 1).and_then(|n| (n > 0).then_some(n).ok_or_else(wrong)))
            .collect()
    };
    let from = start + 3 + shape_len;
    let (chunk, inner) = (list(from)?, list(from + 1 + 5 * rank)?);
    if chunk.iter().zip(&inner).any(|(chunk, inner)| inner > chunk) {
        return Err(wrong());
    }
    Ok(Some(Boxes { chunk, inner }))
}

impl Boxes {
    /// Puts all boxes where they belong.
    fn join(&self, filled: &[u8], size: usize, out: &mut [u8]) {
        let rank = self.chunk.len();
        let box_len = self.inner.iter().product::<usize>() * size;
        let grid: Vec<usize> = self.chunk.iter().zip(&self.inner).map(|(c, i)| c.div_ceil(*i)).collect();
        let mut at = vec![0; rank];
        for part in filled.chunks_exact(box_len) {
            self.place(part, &at, size, out);
            step(&mut at, &grid);
        }
    }

    /// Copies the rows of one box that are inside of the chunk.
    fn place(&self, part: &[u8], at: &[usize], size: usize, out: &mut [u8]) {
        let last = self.chunk.len() - 1;
        let origin: Vec<usize> = at.iter().zip(&self.inner).map(|(a, i)| a * i).collect();
        let inside: Vec<usize> =
            (0..=last).map(|axis| self.inner[axis].min(self.chunk[axis] - origin[axis])).collect();
        let row = inside[last] * size;
        let mut rows = vec![0; last];
        let mut count: usize = inside[..last].iter().product();
        while count > 0 {
            let (mut from, mut to) = (0, 0);
            for (axis, &row) in rows.iter().enumerate() {
                from = (from + row) * self.inner[axis + 1];
                to = (to + origin[axis] + row) * self.chunk[axis + 1];
            }
            let (from, to) = (from * size, (to + origin[last]) * size);
            out[to..to + row].copy_from_slice(&part[from..from + row]);
            step(&mut rows, &inside[..last]);
            count -= 1;
        }
    }
}

/// The next coordinates, the last axis first.
fn step(at: &mut [usize], end: &[usize]) {
    for (at, end) in at.iter_mut().zip(end).rev() {
        *at += 1;
        if *at < *end {
            return;
        }
        *at = 0;
    }
}
