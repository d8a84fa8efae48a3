//! Rows of decoded blocks into batches.

use crate::{
    decoded::{Cells, Decoded, Set, fault},
    source::TableSource,
};
use infeed_core::{Error, Result};
use std::sync::Arc;

impl TableSource {
    /// Copies the cells of one field.
    pub(crate) fn gather(
        &self,
        decoded: &[Arc<Decoded>],
        places: &[(u32, u32)],
        set: &Set,
        at: usize,
        out: &mut [u8],
    ) -> Result<()> {
        let name = &set.names[at];
        let mut parts = vec![];
        let mut faulty = false;
        for block in decoded {
            let Cells::Packed { offset, width, faults } = &block.cells[at] else {
                return Err(Error::Internal { what: format!("field `{name}` does not lie in rows") });
            };
            faulty |= !faults.is_empty();
            parts.push((&block.memory.bytes()[*offset..], block.stride, *width));
        }
        let Some(width) = parts.first().map(|part| part.2) else { return Ok(()) };
        if out.len() != places.len() * width {
            let what = format!("field `{name}`: {} rows of {width} bytes for {}", places.len(), out.len());
            return Err(Error::Internal { what });
        }
        if faulty {
            for (slot, row) in places {
                if let Cells::Packed { faults, .. } = &decoded[*slot as usize].cells[at]
                    && let Some((column, why)) = fault(faults, *row as usize)
                {
                    let place = self.spec.require(name, "read")?;
                    let dtype = self.spec.fields[place].1.dtype;
                    return Err(self.blame(&set.made[at], column, why, dtype).in_field(name));
                }
            }
        }
        match width {
            0 => {}
            4 => copy::<4>(&parts, places, out),
            8 => copy::<8>(&parts, places, out),
            _ => {
                for ((slot, row), cell) in places.iter().zip(out.chunks_exact_mut(width)) {
                    let (bytes, stride, _) = parts[*slot as usize];
                    cell.copy_from_slice(&bytes[*row as usize * stride..][..width]);
                }
            }
        }
        Ok(())
    }
}

/// Cells of one number: the compiler turns the copy into a load and a store.
fn copy<const N: usize>(parts: &[(&[u8], usize, usize)], places: &[(u32, u32)], out: &mut [u8]) {
    for ((slot, row), cell) in places.iter().zip(out.chunks_exact_mut(N)) {
        let (bytes, stride, _) = parts[*slot as usize];
        cell.copy_from_slice(&bytes[*row as usize * stride..][..N]);
    }
}
