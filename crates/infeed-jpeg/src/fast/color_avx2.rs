//! YCbCr to RGB with AVX2, 32 pixels at a time, equal to the portable code in every bit.

use std::arch::x86_64::*;

use super::color;

/// Pixels per step.
const STEP: usize = 32;

/// `(x * factor + 0.5)` for a factor below one half in 16-bit fixed point, rounded down.
///
/// Doubling before the multiplication and halving after it puts the rounding bit where it can be added.
#[target_feature(enable = "avx2")]
fn scaled(x: __m256i, factor: i16) -> __m256i {
    let high = _mm256_mulhi_epi16(_mm256_add_epi16(x, x), _mm256_set1_epi16(factor));
    _mm256_srai_epi16::<1>(_mm256_add_epi16(high, _mm256_set1_epi16(1)))
}

/// Red, green and blue of sixteen pixels as 16-bit numbers that still need clamping.
#[target_feature(enable = "avx2")]
fn convert(y: __m256i, cb: __m256i, cr: __m256i) -> [__m256i; 3] {
    let centre = _mm256_set1_epi16(128);
    let (cb, cr) = (_mm256_sub_epi16(cb, centre), _mm256_sub_epi16(cr, centre));
    // 1.402 = 1 + 0.402 and 1.772 = 2 - 0.228, so that the rest fits into 16 bits.
    let red = _mm256_add_epi16(_mm256_add_epi16(y, cr), scaled(cr, 26_345));
    let blue = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), scaled(cb, -14_942));
    // -0.34414 and -0.71414 = 0.28586 - 1: both products in one instruction, the -1 afterwards.
    let factors = _mm256_set1_epi32((-22_554 & 0xFFFF) | (18_734 << 16));
    let half = _mm256_set1_epi32(1 << 15);
    let green = |pairs| _mm256_srai_epi32::<16>(_mm256_add_epi32(_mm256_madd_epi16(pairs, factors), half));
    let green =
        _mm256_packs_epi32(green(_mm256_unpacklo_epi16(cb, cr)), green(_mm256_unpackhi_epi16(cb, cr)));
    [red, _mm256_sub_epi16(_mm256_add_epi16(y, green), cr), blue]
}

/// Stores 16 pixels as 48 bytes.
#[target_feature(enable = "avx2")]
fn interleave(red: __m128i, green: __m128i, blue: __m128i, out: &mut [u8; 48]) {
    // Byte i of the output is channel i % 3 of pixel i / 3; -1 leaves a zero for another channel to fill.
    const fn pattern(block: usize, channel: usize) -> [i8; 16] {
        let mut pattern = [-1; 16];
        let mut i = 0;
        while i < 16 {
            let at = block * 16 + i;
            if at % 3 == channel {
                pattern[i] = (at / 3) as i8;
            }
            i += 1;
        }
        pattern
    }
    const PATTERNS: [[[i8; 16]; 3]; 3] = {
        let mut patterns = [[[0; 16]; 3]; 3];
        let mut block = 0;
        while block < 3 {
            let mut channel = 0;
            while channel < 3 {
                patterns[block][channel] = pattern(block, channel);
                channel += 1;
            }
            block += 1;
        }
        patterns
    };
    for (block, patterns) in PATTERNS.iter().enumerate() {
        // SAFETY: every pattern is sixteen bytes long.
        let load = |channel: usize| unsafe { _mm_loadu_si128(patterns[channel].as_ptr().cast()) };
        let bytes = _mm_or_si128(
            _mm_or_si128(_mm_shuffle_epi8(red, load(0)), _mm_shuffle_epi8(green, load(1))),
            _mm_shuffle_epi8(blue, load(2)),
        );
        // SAFETY: blocks 0 to 2 of sixteen bytes each fill the 48 bytes exactly.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().add(block * 16).cast(), bytes) };
    }
}

/// One step of 32 pixels.
#[target_feature(enable = "avx2")]
fn step(y: &[u8; STEP], cb: &[u8; STEP], cr: &[u8; STEP], out: &mut [u8; STEP * 3]) {
    // SAFETY: each array is 32 bytes long.
    let (y, cb, cr) = unsafe {
        (
            _mm256_loadu_si256(y.as_ptr().cast()),
            _mm256_loadu_si256(cb.as_ptr().cast()),
            _mm256_loadu_si256(cr.as_ptr().cast()),
        )
    };
    // Closures given to library functions would be compiled without AVX2, hence no mapping over arrays here.
    let zero = _mm256_setzero_si256();
    let low = convert(
        _mm256_unpacklo_epi8(y, zero),
        _mm256_unpacklo_epi8(cb, zero),
        _mm256_unpacklo_epi8(cr, zero),
    );
    let high = convert(
        _mm256_unpackhi_epi8(y, zero),
        _mm256_unpackhi_epi8(cb, zero),
        _mm256_unpackhi_epi8(cr, zero),
    );
    // Unpacking and packing both work within the register halves, so the order comes back as it was.
    let red = _mm256_packus_epi16(low[0], high[0]);
    let green = _mm256_packus_epi16(low[1], high[1]);
    let blue = _mm256_packus_epi16(low[2], high[2]);
    let (halves, _) = out.as_chunks_mut::<48>();
    if let [first, second] = halves {
        interleave(
            _mm256_castsi256_si128(red),
            _mm256_castsi256_si128(green),
            _mm256_castsi256_si128(blue),
            first,
        );
        interleave(
            _mm256_extracti128_si256::<1>(red),
            _mm256_extracti128_si256::<1>(green),
            _mm256_extracti128_si256::<1>(blue),
            second,
        );
    }
}

/// A row of pixels; all four slices agree in their number of pixels.
#[target_feature(enable = "avx2")]
pub(super) fn row(y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
    let outs = out.as_chunks_mut::<{ STEP * 3 }>().0;
    let inputs = y.as_chunks::<STEP>().0.iter().zip(cb.as_chunks::<STEP>().0).zip(cr.as_chunks::<STEP>().0);
    for (out, ((y, cb), cr)) in outs.iter_mut().zip(inputs) {
        step(y, cb, cr, out);
    }
    if y.len().is_multiple_of(STEP) {
        return;
    }
    // The rest is done as a last full step that overlaps the one before.
    match (y.last_chunk(), cb.last_chunk(), cr.last_chunk(), out.last_chunk_mut()) {
        (Some(y), Some(cb), Some(cr), Some(out)) => step(y, cb, cr, out),
        _ => color::row(y, cb, cr, out),
    }
}
