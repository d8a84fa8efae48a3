//! A blend as the two arrays that Megatron's and BlendCorpus's helpers produce.

use super::{kernel::Mixer, weights::checked_sum};
use infeed_core::{Error, Result};

/// Returns the part at each place and the number of the sample within it, for weights that are already normalised
/// ([`super::normalized`]). Equal to the helpers' arrays, number by number.
///
/// Unlike [`super::Blend`], this treats a weight of 0 as the helpers do: such a part is drawn when
/// no other part is behind.
pub fn blending_indices(weights: &[f64], size: u64) -> Result<(Vec<i16>, Vec<i64>)> {
    let size = usize::try_from(size).ok().filter(|size| *size <= 1 << 40);
    let size = size.ok_or_else(|| Error::plan("blend", "more than 2^40 samples; ask for fewer"))?;
    let (mut parts, mut samples) = (vec![0; size], vec![0; size]);
    blending_indices_into(weights, &mut parts, &mut samples)?;
    Ok((parts, samples))
}

/// Like [`blending_indices`], but writes into existing arrays of equal length.
pub fn blending_indices_into(weights: &[f64], parts: &mut [i16], samples: &mut [i64]) -> Result<()> {
    checked_sum(weights)?;
    if weights.len() > i16::MAX as usize {
        let what = format!("{} parts do not fit into 16 bits; blend in two levels", weights.len());
        return Err(Error::plan("blend", what));
    }
    if parts.len() != samples.len() {
        let what = format!("the arrays have {} and {} entries; make them equal", parts.len(), samples.len());
        return Err(Error::plan("blend", what));
    }
    let mut used = vec![0i64; weights.len()];
    let mut mixer = Mixer::at(weights, &vec![0; weights.len()], 0);
    // In pieces, so that the parts are still in the cache for the second loop.
    for (parts, samples) in parts.chunks_mut(4096).zip(samples.chunks_mut(4096)) {
        mixer.fill(parts);
        for (part, sample) in parts.iter().zip(samples) {
            let used = &mut used[*part as usize];
            *sample = *used;
            *used += 1;
        }
    }
    Ok(())
}
