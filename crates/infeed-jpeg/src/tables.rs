//! Checks whether a file defines every table that it uses.
//!
//! libjpeg keeps quantisation and Huffman tables from one file to the next, so that a stream of images can state
//! them once. Here every file is independent: a damaged file that lacks a table must fail, not use the table of the
//! previous file.

use crate::markers::{DHT, DQT, SOS, Segments};

/// The structure of a file, from the markers before the first scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Structure {
    /// A sequential file whose first scan holds every component.
    pub(crate) single_scan: bool,
    /// All tables of that one scan are defined before it.
    pub(crate) complete: bool,
}

/// Table numbers that have been defined, as bits.
#[derive(Default)]
struct Defined {
    steps: u16,
    dc: u16,
    ac: u16,
}

impl Defined {
    fn read_steps(&mut self, mut payload: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = payload.split_first() {
            let length = if kind >> 4 == 0 { 64 } else { 128 };
            payload = rest.get(length..)?;
            self.steps |= 1 << (kind & 15);
        }
        Some(())
    }

    fn read_huffman(&mut self, mut payload: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = payload.split_first() {
            let symbols: usize = rest.get(..16)?.iter().map(|&count| usize::from(count)).sum();
            payload = rest.get(16 + symbols..)?;
            let defined = if kind >> 4 == 0 { &mut self.dc } else { &mut self.ac };
            *defined |= 1 << (kind & 15);
        }
        Some(())
    }

    /// Whether the tables of every component of the frame and the scan are defined.
    fn cover(&self, components: &[[u8; 3]], selected: &[[u8; 2]]) -> bool {
        let has = |defined: u16, number: u8| number < 16 && defined >> number & 1 == 1;
        components.iter().all(|component| has(self.steps, component[2]))
            && selected.iter().all(|&[_, tables]| has(self.dc, tables >> 4) && has(self.ac, tables & 15))
    }
}

/// Reads the structure of a file; the default if the file is invalid.
pub(crate) fn structure(bytes: &[u8]) -> Structure {
    read(bytes).unwrap_or_default()
}

fn read(bytes: &[u8]) -> Option<Structure> {
    let mut segments = Segments::new(bytes).ok()?;
    let mut defined = Defined::default();
    let mut frame = None;
    while let Some(segment) = segments.next_segment().ok()? {
        match segment.code {
            DQT => defined.read_steps(segment.payload)?,
            DHT => defined.read_huffman(segment.payload)?,
            0xC0 | 0xC1 | 0xC9 => frame = Some((segment.code, segment.payload.get(6..)?)),
            SOS => {
                let (code, components) = frame?;
                let (&count, selected) = segment.payload.split_first()?;
                let components = components.as_chunks::<3>().0;
                let selected = selected.get(..usize::from(count) * 2)?.as_chunks::<2>().0;
                let single_scan = components.len() == selected.len();
                // Arithmetic coding has no Huffman tables, but it is not worth a separate case.
                let complete = single_scan && code != 0xC9 && defined.cover(components, selected);
                return Some(Structure { single_scan, complete });
            }
            _ => {}
        }
    }
    None
}
