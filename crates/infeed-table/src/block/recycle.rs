//! Memory of columns that is used again: a column lives only until its block is put into rows, and memory that the allocator
//! gives back and takes anew each time costs more than decoding.

use arrow_buffer::Buffer;
use std::cell::RefCell;

/// What a thread keeps at most, in bytes.
const MOST: usize = 64 << 20;

/// Smaller pieces are quick to get anyway.
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

/// Elements whose vectors are kept.
pub(crate) trait Recycled: Sized {
    /// An empty vector, with room for about so many elements where one is left.
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

/// Keeps the memory of a buffer, if nobody else has it.
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
