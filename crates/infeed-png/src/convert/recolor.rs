//! Changes the channels of 8-bit samples. Each loop is over fixed-size pixels, for the vectoriser.

use crate::header::{Color, Output, Preamble};

/// Pillow's luma: ITU-R 601 weights in 16-bit fixed point, rounded.
#[inline(always)]
fn luma(r: u8, g: u8, b: u8) -> u8 {
    ((u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 0x8000) >> 16) as u8
}

pub(super) fn gray_to_rgb(samples: &[u8], into: &mut [u8]) {
    for (d, s) in into.as_chunks_mut::<3>().0.iter_mut().zip(samples) {
        *d = [*s; 3];
    }
}

pub(super) fn gray_to_rgba(samples: &[u8], lookup: &Lookup, into: &mut [u8]) {
    let pixels = into.as_chunks_mut::<4>().0.iter_mut().zip(samples);
    if let Some([key, ..]) = lookup.key8 {
        pixels.for_each(|(d, &s)| *d = [s, s, s, if s == key { 0 } else { 255 }]);
    } else {
        pixels.for_each(|(d, &s)| *d = [s, s, s, 255]);
    }
}

/// Not through 8 bits, because the key is compared in full.
pub(super) fn gray16_to_rgba(row: &[u8], lookup: &Lookup, into: &mut [u8]) {
    for (d, s) in into.as_chunks_mut::<4>().0.iter_mut().zip(row.as_chunks::<2>().0) {
        *d = [s[0], s[0], s[0], if lookup.key16 == Some(*s) { 0 } else { 255 }];
    }
}

pub(super) fn gray_alpha_to_gray(samples: &[u8], into: &mut [u8]) {
    for (d, [v, _]) in into.iter_mut().zip(samples.as_chunks::<2>().0) {
        *d = *v;
    }
}

pub(super) fn gray_alpha_to_rgb(samples: &[u8], into: &mut [u8]) {
    for (d, [v, _]) in into.as_chunks_mut::<3>().0.iter_mut().zip(samples.as_chunks::<2>().0) {
        *d = [*v; 3];
    }
}

pub(super) fn gray_alpha_to_rgba(samples: &[u8], into: &mut [u8]) {
    for (d, &[v, a]) in into.as_chunks_mut::<4>().0.iter_mut().zip(samples.as_chunks::<2>().0) {
        *d = [v, v, v, a];
    }
}

/// Luma of the first three of `N` channels.
pub(super) fn to_gray<const N: usize>(samples: &[u8], into: &mut [u8]) {
    for (d, s) in into.iter_mut().zip(samples.as_chunks::<N>().0) {
        *d = luma(s[0], s[1], s[2]);
    }
}

pub(super) fn rgb_to_rgba(samples: &[u8], lookup: &Lookup, into: &mut [u8]) {
    let pixels = into.as_chunks_mut::<4>().0.iter_mut().zip(samples.as_chunks::<3>().0);
    if let Some(key) = lookup.key8 {
        pixels.for_each(|(d, &[r, g, b])| *d = [r, g, b, if [r, g, b] == key { 0 } else { 255 }]);
    } else {
        pixels.for_each(|(d, &[r, g, b])| *d = [r, g, b, 255]);
    }
}

pub(super) fn rgba_to_rgb(samples: &[u8], into: &mut [u8]) {
    for (d, &[r, g, b, _]) in into.as_chunks_mut::<3>().0.iter_mut().zip(samples.as_chunks::<4>().0) {
        *d = [r, g, b];
    }
}

/// Lookup tables made from `PLTE` and `tRNS`. Entries past the palette are opaque black.
pub(crate) struct Lookup {
    colors: [[u8; 4]; 256],
    lumas: [u8; 256],
    /// The colour key as Pillow compares it: low bytes against the 8-bit values shown.
    key8: Option<[u8; 3]>,
    /// The gray key as stored.
    key16: Option<[u8; 2]>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self { colors: [[0, 0, 0, 255]; 256], lumas: [0; 256], key8: None, key16: None }
    }
}

impl Lookup {
    /// Builds only the tables the image and the output need.
    pub(super) fn prepare(&mut self, preamble: &Preamble<'_>, output: Output) {
        (self.key8, self.key16) = (None, None);
        let (gray, alpha) = (output == Output::Gray, output == Output::Rgba);
        match (preamble.header.color, preamble.transparency) {
            (Color::Palette { .. }, alphas) => self.fill(preamble.palette, alphas, gray),
            (Color::Gray, &[high, low, ..]) if alpha => {
                self.key16 = Some([high, low]);
                let shown = match preamble.header.bit_depth {
                    1 if [high, low] != [0, 0] => 255,
                    _ => low,
                };
                self.key8 = Some([shown; 3]);
            }
            (Color::Rgb, &[_, r, _, g, _, b, ..]) if alpha => self.key8 = Some([r, g, b]),
            _ => {}
        }
    }

    fn fill(&mut self, palette: &[u8], alphas: &[u8], gray: bool) {
        self.colors = [[0, 0, 0, 255]; 256];
        for (entry, &[r, g, b]) in self.colors.iter_mut().zip(palette.as_chunks::<3>().0) {
            *entry = [r, g, b, 255];
        }
        for (entry, a) in self.colors.iter_mut().zip(alphas) {
            entry[3] = *a;
        }
        if gray {
            self.lumas = self.colors.map(|[r, g, b, _]| luma(r, g, b));
        }
    }

    pub(super) fn to_gray(&self, indices: &[u8], into: &mut [u8]) {
        for (d, i) in into.iter_mut().zip(indices) {
            *d = self.lumas[usize::from(*i)];
        }
    }

    pub(super) fn to_rgb(&self, indices: &[u8], into: &mut [u8]) {
        for (d, i) in into.as_chunks_mut::<3>().0.iter_mut().zip(indices) {
            let [r, g, b, _] = self.colors[usize::from(*i)];
            *d = [r, g, b];
        }
    }

    pub(super) fn to_rgba(&self, indices: &[u8], into: &mut [u8]) {
        for (d, i) in into.as_chunks_mut::<4>().0.iter_mut().zip(indices) {
            *d = self.colors[usize::from(*i)];
        }
    }
}
