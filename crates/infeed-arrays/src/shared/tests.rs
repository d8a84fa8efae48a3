use super::*;
use crate::{
    array::{Element, Pieces, Scratch},
    zip::Crc,
};
use infeed_core::{
    Dtype,
    signals::{self, Signals},
};
use proptest::prelude::*;
use std::{
    collections::HashSet,
    ops::Range,
    sync::Arc,
    thread::{ThreadId, current},
};

/// An array in chunks whose elements are their own numbers, and which notes the threads that ask for them.
#[derive(Debug, Default)]
struct Numbers {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    threads: Mutex<HashSet<ThreadId>>,
}

struct Part<'a>(&'a Numbers, &'a Slab);

impl Pieces for Part<'_> {
    fn len(&self) -> usize {
        1
    }

    fn range(&self, _: usize) -> Option<Range<u64>> {
        None
    }

    fn place(&self, _: usize, _: &[u8], out: &mut [u8], _: &mut Scratch) -> Result<()> {
        let Part(array, slab) = self;
        array.threads.hold().insert(current().id());
        let mut at = slab.start.clone();
        for out in out.chunks_exact_mut(4) {
            let number = at.iter().zip(&array.shape).fold(0, |number, (at, side)| number * side + at);
            out.copy_from_slice(&(number as u32).to_ne_bytes());
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < slab.start[axis] + slab.count[axis] {
                    break;
                }
                at[axis] = slab.start[axis];
            }
        }
        // Long enough for the others to begin.
        std::thread::sleep(std::time::Duration::from_millis(2));
        Ok(())
    }
}

impl Array for Numbers {
    fn element(&self) -> Element {
        Element::Number(Dtype::U32)
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn chunk(&self) -> Option<&[u64]> {
        Some(&self.chunk)
    }

    fn plan<'a>(&'a self, slab: &'a Slab) -> Result<Box<dyn Pieces + 'a>> {
        Ok(Box::new(Part(self, slab)))
    }

    fn texts(&self, _: &[u8]) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

fn read(array: &Numbers, slab: &Slab) -> Vec<u8> {
    let mut out = vec![0; slab.elements() as usize * 4];
    fill_shared(&[], array, slab, &mut out).unwrap();
    out
}

#[test]
fn large_boxes_are_read_by_all_threads_of_a_run_and_small_ones_by_one() {
    let array = Numbers { shape: vec![3, 45, 256, 512], chunk: vec![1, 8, 64, 512], ..Numbers::default() };
    let slab = Slab::along(&array.shape, 0, 1..2);
    let alone = read(&array, &slab);
    assert_eq!(array.threads.hold().len(), 1);
    let run = Arc::new(Signals::default().with_threads(4));
    let _entered = signals::enter(&run);
    array.threads.hold().clear();
    assert!(read(&array, &slab) == alone, "threads change the values");
    assert!(array.threads.hold().len() > 1);
    array.threads.hold().clear();
    read(&array, &Slab { start: vec![0, 0, 0, 0], count: vec![1, 45, 16, 512] });
    assert_eq!(array.threads.hold().len(), 1);
}

#[test]
fn bytes_are_read_in_parts_that_know_where_they_begin() {
    let from: Vec<u8> = (0..LARGE + 12_345).map(|n| (n % 251) as u8).collect();
    let run = Arc::new(Signals::default().with_threads(3));
    let _entered = signals::enter(&run);
    let mut out = vec![0; from.len()];
    copy_shared(&from, &mut out).unwrap();
    assert!(out == from);
    let lens = read_shared(&mut out, |_, _| Ok(())).unwrap();
    assert_eq!(lens.iter().map(|(_, len)| len).sum::<usize>(), from.len());
    assert!(lens.len() > 1);
    let failed = read_shared(&mut out, |at, _| if at > 0 { Err(Error::sample("no")) } else { Ok(()) });
    assert!(failed.is_err());
}

proptest! {
    #[test]
    fn parts_are_the_whole_box_in_order(
        sides in prop::collection::vec(1u64..40, 1..4),
        chunk in prop::collection::vec(1u64..9, 3),
        first in 0u64..40,
        least in 1usize..2000,
    ) {
        let chunk = chunk[..sides.len()].to_vec();
        let array = Numbers { shape: sides.clone(), chunk, ..Numbers::default() };
        let first = first.min(sides[0] - 1);
        let slab = Slab::along(&sides, 0, first..sides[0]);
        let (step, parts) = cut(&array, &slab, least);
        let joined: Vec<u8> = parts.iter().flat_map(|part| read(&array, part)).collect();
        prop_assert_eq!(joined, read(&array, &slab));
        for part in &parts[..parts.len() - 1] {
            prop_assert_eq!(part.elements() as usize * 4, step);
        }
    }

    #[test]
    fn checksums_of_parts_make_that_of_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200) {
        let at = at.min(bytes.len());
        let sum = |bytes: &[u8]| {
            let mut crc = Crc::new();
            crc.update(bytes);
            crc.sum()
        };
        let (first, second) = bytes.split_at(at);
        prop_assert_eq!(Crc::joined(sum(first), sum(second), second.len()), sum(&bytes));
    }
}
