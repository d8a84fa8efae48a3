//! Checks whether a file is of the common kind, and collects what its decoding needs.

use super::block::order;
use super::huffman::{Class, Table};
use crate::header::{Color, Header};
use crate::markers::{APP0, DHT, DQT, DRI, SOS, Segments};
use crate::request::Scale;

/// For files below this many bytes, building new Huffman tables is not worth it.
const SMALL: usize = 3000;

/// The table sets of a decoder, kept from file to file: most files use the same ones.
pub(super) struct Tables {
    pub(super) dc: [Table; 4],
    pub(super) ac: [Table; 4],
    pub(super) steps: [Steps; 4],
}

/// Quantisation steps in row order, aligned for SIMD.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Steps(pub(super) [u16; 64]);

impl Default for Tables {
    fn default() -> Self {
        Tables {
            dc: std::array::from_fn(|_| Table::new(Class::Dc)),
            ac: std::array::from_fn(|_| Table::new(Class::Ac)),
            steps: [Steps([0; 64]); 4],
        }
    }
}

/// One colour component of a scan.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Component {
    /// Blocks per unit, across and down.
    pub(super) across: usize,
    pub(super) down: usize,
    /// Samples per side that a block is decoded to: eight, or less when scaling.
    pub(super) size: usize,
    pub(super) steps: usize,
    pub(super) dc: usize,
    pub(super) ac: usize,
}

/// The parameters of an eligible file, from the markers before its entropy-coded data.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// Size in pixels as stored.
    pub(super) full: (usize, usize),
    /// Height in pixels as decoded.
    pub(super) height: usize,
    pub(super) components: Vec<Component>,
    /// Restart interval in units; 0 for none.
    pub(super) interval: usize,
    /// Where the entropy-coded data begins.
    pub(super) data: usize,
}

impl Frame {
    /// Size of a unit (MCU) in decoded pixels.
    pub(super) fn unit(&self) -> (usize, usize) {
        let luma = self.components[0];
        (luma.across * luma.size, luma.down * luma.size)
    }

    /// How many units there are, across and down.
    pub(super) fn units(&self) -> (usize, usize) {
        let luma = self.components[0];
        (self.full.0.div_ceil(luma.across * 8), self.full.1.div_ceil(luma.down * 8))
    }

    /// The number of samples across and down in a component that belong to the image.
    pub(super) fn samples(&self, component: &Component) -> (usize, usize) {
        let luma = self.components[0];
        let of =
            |length: usize, blocks: usize, most: usize| (length * blocks * component.size).div_ceil(most * 8);
        (of(self.full.0, component.across, luma.across), of(self.full.1, component.down, luma.down))
    }

    /// Whether decoded chroma is still half as wide, and half as high, as decoded luma.
    pub(super) fn halved(&self) -> (bool, bool) {
        match self.components[..] {
            [luma, chroma, _] => {
                (luma.across * luma.size != chroma.size, luma.down * luma.size != chroma.size)
            }
            _ => (false, false),
        }
    }
}

/// Which of the tables have been defined by this file.
#[derive(Default)]
struct Defined {
    dc: [bool; 4],
    ac: [bool; 4],
    steps: [bool; 4],
}

/// Reads everything up to the entropy-coded data. `None` if anything at all is unusual.
pub(super) fn read(bytes: &[u8], header: &Header, scale: Scale, tables: &mut Tables) -> Option<Frame> {
    if header.progressive || !matches!(header.color, Color::Gray | Color::Ycc) {
        return None;
    }
    let mut defined = Defined::default();
    let mut interval = 0;
    let mut start_of_frame = None;
    let mut segments = Segments::new(bytes).ok()?;
    while let Some(segment) = segments.next_segment().ok()? {
        let payload = segment.payload;
        match segment.code {
            0xC0 | 0xC1 if start_of_frame.is_none() => start_of_frame = Some(payload),
            DQT => read_steps(payload, tables, &mut defined)?,
            DHT => read_huffman(payload, bytes.len() < SMALL, tables, &mut defined)?,
            DRI => interval = usize::from(u16::from_be_bytes(payload.try_into().ok()?)),
            SOS if !segments.garbage => {
                let mut components = read_components(start_of_frame?, payload, &defined)?;
                let [_, h1, h0, w1, w0, ..] = start_of_frame?[..] else { return None };
                let size = (u32::from(u16::from_be_bytes([w1, w0])), u32::from(u16::from_be_bytes([h1, h0])));
                if size != (header.width, header.height) || !supported(&mut components, header, scale) {
                    return None;
                }
                let full = (header.width as usize, header.height as usize);
                let height = scale.apply(header.height) as usize;
                return Some(Frame { full, height, components, interval, data: segment.end });
            }
            APP0..=0xEF | 0xFE => {}
            _ => return None,
        }
    }
    None
}

fn read_steps(mut payload: &[u8], tables: &mut Tables, defined: &mut Defined) -> Option<()> {
    while let [slot @ 0..=3, rest @ ..] = payload {
        let (steps, rest) = rest.split_at_checked(64)?;
        let slot = usize::from(*slot);
        for (index, &step) in steps.iter().enumerate() {
            tables.steps[slot].0[order(index)] = u16::from(step);
        }
        defined.steps[slot] = true;
        payload = rest;
    }
    payload.is_empty().then_some(())
}

fn read_huffman(mut payload: &[u8], small: bool, tables: &mut Tables, defined: &mut Defined) -> Option<()> {
    while let Some((&kind, rest)) = payload.split_first() {
        let symbols: usize = rest.get(..16)?.iter().map(|&count| usize::from(count)).sum();
        let (definition, rest) = rest.split_at_checked(16 + symbols)?;
        let slot = usize::from(kind & 15);
        let (table, defined) = match kind >> 4 {
            0 => (tables.dc.get_mut(slot)?, &mut defined.dc),
            1 => (tables.ac.get_mut(slot)?, &mut defined.ac),
            _ => return None,
        };
        table.define(definition, small)?;
        defined[slot] = true;
        payload = rest;
    }
    Some(())
}

/// Matches the scan header with the frame header.
fn read_components(frame: &[u8], scan: &[u8], defined: &Defined) -> Option<Vec<Component>> {
    let (&[8, _, _, _, _, count], stored) = frame.split_first_chunk::<6>()? else { return None };
    let (&scanned, selected) = scan.split_first()?;
    let count = usize::from(count);
    if usize::from(scanned) != count || stored.len() != count * 3 || selected.len() != count * 2 + 3 {
        return None;
    }
    let (selected, spectrum) = selected.split_at(count * 2);
    if spectrum != [0, 63, 0] {
        return None;
    }
    let stored = stored.as_chunks::<3>().0;
    let selected = selected.as_chunks::<2>().0;
    let mut components = Vec::with_capacity(count);
    for (index, (&[id, sampling, steps], &[selected_id, entropy])) in stored.iter().zip(selected).enumerate()
    {
        let component = Component {
            across: usize::from(sampling >> 4),
            down: usize::from(sampling & 15),
            size: 8,
            steps: usize::from(steps),
            dc: usize::from(entropy >> 4),
            ac: usize::from(entropy & 15),
        };
        let duplicate = stored[..index].iter().any(|other| other[0] == id);
        let usable = *defined.steps.get(component.steps)?
            && *defined.dc.get(component.dc)?
            && *defined.ac.get(component.ac)?;
        if id != selected_id || duplicate || !usable {
            return None;
        }
        components.push(component);
    }
    Some(components)
}

/// Whether the sampling is one of the common ones, with every special case of tiny images left out. Settles
/// how large blocks are decoded.
fn supported(components: &mut [Component], header: &Header, scale: Scale) -> bool {
    // Chroma of one or two columns is upsampled by other rules.
    if scale.apply(header.width) < 16 || scale.apply(header.height) < 16 {
        return false;
    }
    let size = 8 / scale.denominator() as usize;
    components.iter_mut().for_each(|component| component.size = size);
    match components {
        [only] => {
            // The sampling factors of a single component mean nothing.
            (only.across, only.down) = (1, 1);
            true
        }
        [luma, cb, cr] => {
            // Like libjpeg: instead of decoding all blocks smaller and then upsampling chroma, chroma blocks are
            // decoded larger, if that is enough for both directions.
            if (luma.across, luma.down) == (2, 2) && size < 8 {
                (cb.size, cr.size) = (size * 2, size * 2);
            }
            // Any upsampling left at an eighth follows other rules.
            let plain = (luma.across, luma.down) == (1, 1) || (luma.across, luma.down) == (2, 2) || size > 1;
            plain
                && matches!((luma.across, luma.down), (1, 1) | (2, 1) | (2, 2) | (1, 2))
                && [cb, cr].iter().all(|chroma| (chroma.across, chroma.down) == (1, 1))
        }
        _ => false,
    }
}
