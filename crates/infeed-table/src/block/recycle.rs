//! Reuses column buffers: a column is needed only until its block is packed into rows, and returning its memory to
//! the allocator and getting it back each time costs more than decoding.

use arrow_buffer::Buffer;
use std::cell::RefCell;

/// The most bytes a thread keeps.
const MOST: usize = 64 << 20;

/// Smaller buffers are cheap to allocate.
const LEAST: usize = 1 << 16;

#[derive(Default)]
struct Spare {
    words: Vec<Vec<u32>>,
    longs: Vec<Vec<u64>>,
    bytes: usize,
}

thread_local! {
    static SPARE: RefCell<Spare> = RefCell::default();
}

/// Element types whose vectors are reused.
pub(crate) trait Recycled: Sized {
    /// Returns an empty vector, with room for about `count` elements if a spare one fits.
    fn take(count: usize) -> Vec<Self>;
}

impl Recycled for u32 {
    fn take(count: usize) -> Vec<u32> {
        SPARE.with_borrow_mut(|spare| pick(&mut spare.words, &mut spare.bytes, count))
    }
}

impl Recycled for u64 {
    fn take(count: usize) -> Vec<u64> {
        SPARE.with_borrow_mut(|spare| pick(&mut spare.longs, &mut spare.bytes, count))
    }
}

fn pick<T>(from: &mut Vec<Vec<T>>, bytes: &mut usize, count: usize) -> Vec<T> {
    let fits = from.iter().position(|vec| vec.capacity() >= count);
    match fits {
        Some(at) => {
            let vec = from.swap_remove(at);
            *bytes -= vec.capacity() * size_of::<T>();
            vec
        }
        None => Vec::new(),
    }
}

/// Keeps the memory of a buffer that is not shared.
pub(crate) fn give(buffer: Buffer) {
    let len = buffer.len();
    SPARE.with_borrow_mut(|spare| {
        if len < LEAST || spare.bytes + len > MOST {
            return;
        }
        match buffer.into_vec::<u32>() {
            Ok(vec) => keep(&mut spare.words, &mut spare.bytes, vec),
            Err(buffer) => {
                if let Ok(vec) = buffer.into_vec::<u64>() {
                    keep(&mut spare.longs, &mut spare.bytes, vec);
                }
            }
        }
    });
}

fn keep<T>(to: &mut Vec<Vec<T>>, bytes: &mut usize, mut vec: Vec<T>) {
    vec.clear();
    *bytes += vec.capacity() * size_of::<T>();
    to.push(vec);
}
