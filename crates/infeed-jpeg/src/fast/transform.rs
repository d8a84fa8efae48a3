//! From coefficients to samples: selects the inverse DCT for the size of a block and the CPU.

use super::block::Block;
use super::frame::Steps;
use super::idct;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
use super::idct_avx2;
use super::planes::Planes;
use super::reduced;
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
use super::reduced_sse2;

/// Where the samples of one block go, for the first unit of a row of the window.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) offset: usize,
    /// Offset from one unit to the next.
    pub(super) step: usize,
    pub(super) stride: usize,
    pub(super) size: usize,
    pub(super) steps: &'a Steps,
}

impl Default for Place<'_> {
    fn default() -> Self {
        static NONE: Steps = Steps([0; 64]);
        Place { offset: 0, step: 0, stride: 0, size: 0, steps: &NONE }
    }
}

impl Place<'_> {
    #[inline(always)]
    fn at(&self, unit: usize) -> usize {
        self.offset + unit * self.step
    }
}

/// Turns two blocks of a batch into samples and clears them.
#[inline(always)]
pub(super) fn transform<const SIMD: bool>(
    pair: [usize; 2],
    places: [Place<'_>; 2],
    start: usize,
    blocks: &mut [Block],
    planes: &mut Planes,
) -> bool {
    let [Place { stride, size, .. }, _] = places;
    let [(first, first_steps), (second, second_steps)] =
        [(places[0].at(start), places[0].steps), (places[1].at(start), places[1].steps)];
    let Ok([a, b]) = blocks.get_disjoint_mut(pair) else { return false };
    let out = &mut planes.samples;
    if !a.has_ac && !b.has_ac {
        let flat = match size {
            8 => idct::flat::<8>,
            4 => idct::flat::<4>,
            2 => idct::flat::<2>,
            _ => idct::flat::<1>,
        };
        let sound = flat(a.coefficients[0], first_steps.0[0], out, first, stride)
            & flat(b.coefficients[0], second_steps.0[0], out, second, stride);
        a.coefficients[0] = 0;
        b.coefficients[0] = 0;
        return sound;
    }
    let mut sound = true;
    if SIMD {
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        match size {
            8 => {
                let coefficients = [&a.coefficients, &b.coefficients];
                let (steps, offsets) = ([&first_steps.0, &second_steps.0], [first, second]);
                // SAFETY: only functions that need the same instructions themselves set `SIMD`.
                sound = unsafe { idct_avx2::blocks(coefficients, steps, out, offsets, stride) };
            }
            4 => {
                reduced_sse2::block::<4>(a, first_steps, out, first, stride);
                reduced_sse2::block::<4>(b, second_steps, out, second, stride);
            }
            _ => {
                reduced_sse2::block::<2>(a, first_steps, out, first, stride);
                reduced_sse2::block::<2>(b, second_steps, out, second, stride);
            }
        }
    } else {
        match size {
            8 => {
                sound = idct::block(&a.coefficients, &first_steps.0, out, first, stride)
                    & idct::block(&b.coefficients, &second_steps.0, out, second, stride);
            }
            4 => {
                reduced::block::<4>(a, first_steps, out, first, stride);
                reduced::block::<4>(b, second_steps, out, second, stride);
            }
            _ => {
                reduced::block::<2>(a, first_steps, out, first, stride);
                reduced::block::<2>(b, second_steps, out, second, stride);
            }
        }
    }
    a.clear();
    b.clear();
    sound
}
