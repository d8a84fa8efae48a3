//! Elements of the file's byte order in that of this machine.

use infeed_core::Dtype;

/// Turns elements where they are.
pub(crate) fn turn_here(dtype: Dtype, data: &mut [u8]) {
    match dtype.size() {
        2 => data.as_chunks_mut().0.iter_mut().for_each(|one| *one = u16::from_be_bytes(*one).to_ne_bytes()),
        4 => data.as_chunks_mut().0.iter_mut().for_each(|one| *one = u32::from_be_bytes(*one).to_ne_bytes()),
        8 => data.as_chunks_mut().0.iter_mut().for_each(|one| *one = u64::from_be_bytes(*one).to_ne_bytes()),
        _ => {}
    }
}

/// Writes elements into memory of the same length.
pub(crate) fn turn(dtype: Dtype, from: &[u8], to: &mut [u8]) {
    match dtype.size() {
        _ if dtype == Dtype::Bool => {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = u8::from(*from != 0))
        }
        2 => {
            let pairs = to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0);
            pairs.for_each(|(to, from)| *to = u16::from_be_bytes(*from).to_ne_bytes());
        }
        4 => {
            let pairs = to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0);
            pairs.for_each(|(to, from)| *to = u32::from_be_bytes(*from).to_ne_bytes());
        }
        8 => {
            let pairs = to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0);
            pairs.for_each(|(to, from)| *to = u64::from_be_bytes(*from).to_ne_bytes());
        }
        _ => to.copy_from_slice(from),
    }
}
