//! Loops that the compiler vectorises, compiled three times: for every processor, for AVX2 and for AVX-512.
//!
//! The code is the same, and so are the results: the compiler neither fuses nor reorders floats. The only `unsafe` code of this
//! crate is here: calls of such a version after the processor was asked.

/// Pixels worked on at a time: few enough to stay in the L1 cache, enough to fill vectors.
const BLOCK: usize = 64;

/// Interleaved pixels.
type Block = [u8; 3 * BLOCK];

/// One channel of a block.
pub(crate) type Plane = [u8; BLOCK];

/// Makes a function that takes the widest version of its body that the processor can run.
macro_rules! widened {
    ($(#[$meta:meta])* $seen:vis fn $name:ident($($arg:ident: $kind:ty),*) $(-> $out:ty)? $body:block) => {
        $(#[$meta])*
        $seen fn $name($($arg: $kind),*) $(-> $out)? {
            #[inline(always)]
            fn work($($arg: $kind),*) $(-> $out)? $body

            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            {
                #[target_feature(enable = "avx512bw")]
                fn avx512($($arg: $kind),*) $(-> $out)? {
                    work($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $kind),*) $(-> $out)? {
                    work($($arg),*)
                }
                #[allow(unsafe_code)]
                match $crate::wide::width() {
                    // SAFETY: the processor was asked.
                    $crate::wide::Width::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: the same.
                    $crate::wide::Width::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::wide::Width::Plain => {}
                }
            }
            work($($arg),*)
        }
    };
}
pub(crate) use widened;

/// Which version of a function runs.
#[cfg(any(test, all(target_arch = "x86_64", not(infeed_portable))))]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Width {
    Plain,
    Avx2,
    Avx512,
}

/// The widest vectors that the processor has.
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[inline]
pub(crate) fn width() -> Width {
    let has = if std::arch::is_x86_feature_detected!("avx512bw") {
        Width::Avx512
    } else if std::arch::is_x86_feature_detected!("avx2") {
        Width::Avx2
    } else {
        Width::Plain
    };
    #[cfg(test)]
    let has = has.min(MOST.get());
    has
}

#[cfg(test)]
thread_local! {
    /// The widest vectors that a test wants.
    static MOST: std::cell::Cell<Width> = const { std::cell::Cell::new(Width::Avx512) };
}

/// Runs a test with every width that the processor has.
#[cfg(test)]
pub(crate) fn with_every_width(test: impl Fn()) {
    for width in [Width::Plain, Width::Avx2, Width::Avx512] {
        MOST.set(width);
        test();
    }
}

/// What is done to the three channels of a block. The functions must be `inline(always)`, or they are not widened; that is why
/// this is a trait and no closure.
pub(crate) trait Change {
    fn change(&self, planes: &mut [Plane; 3]);
}

/// Changes RGB pixels block by block.
#[inline(always)]
pub(crate) fn change_planes(pixels: &mut [u8], how: &impl Change) {
    let (blocks, rest) = pixels.as_chunks_mut::<{ 3 * BLOCK }>();
    for block in blocks {
        change_block(block, how);
    }
    if rest.is_empty() {
        return;
    }
    let mut last = [0; 3 * BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    change_block(&mut last, how);
    rest.copy_from_slice(&last[..rest.len()]);
}

#[inline(always)]
fn change_block(block: &mut Block, how: &impl Change) {
    let mut planes = apart(block);
    how.change(&mut planes);
    for (i, pixel) in block.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        *pixel = [planes[0][i], planes[1][i], planes[2][i]];
    }
}

/// The channels of a block. The compiler knows how to do this with shuffles.
#[inline(always)]
fn apart(block: &Block) -> [Plane; 3] {
    let mut planes = [[0; BLOCK]; 3];
    for (i, pixel) in block.as_chunks::<3>().0.iter().enumerate() {
        planes[0][i] = pixel[0];
        planes[1][i] = pixel[1];
        planes[2][i] = pixel[2];
    }
    planes
}
