//! Selects the implementation of the kernels for this machine.

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
use crate::plan::SPLIT_MOST;
use crate::plan::{GROUP, Plan};
use crate::{Dtype, Layout, Sink, scalar};
#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
use crate::{avx2, avx512};

/// Rows that pass the horizontal filter together, sharing its coefficients.
pub(crate) const BATCH: usize = 4;

/// Bytes that may be read after the end of any row given to a kernel, and written after the end of a row
/// of the ring.
pub(crate) const PAD: usize = 64;

/// How rows are stored; a [`Sink`] without its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finish {
    pub(crate) dtype: Dtype,
    pub(crate) layout: Layout,
    pub(crate) channels: usize,
    pub(crate) width: usize,
    pub(crate) plane_stride: usize,
    pub(crate) flip_h: bool,
    pub(crate) scale: [f32; 4],
    pub(crate) bias: [f32; 4],
    /// Values are stored as they are.
    pub(crate) identity: bool,
}

impl Finish {
    pub(crate) fn new(sink: &Sink<'_>, channels: usize, width: usize) -> Self {
        let identity = sink.scale[..channels].iter().all(|&s| s == 1.0)
            && sink.bias[..channels].iter().all(|&b| b == 0.0);
        Finish {
            dtype: sink.dtype,
            layout: sink.layout,
            channels,
            width,
            plane_stride: sink.plane_stride,
            flip_h: sink.flip_h,
            scale: sink.scale,
            bias: sink.bias,
            identity,
        }
    }
}

/// An instruction set that there are kernels for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Scalar,
    /// Created only by [`Level::best`], after checking the machine.
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    Avx2,
    /// The same; implies AVX2.
    #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
    Avx512,
}

impl Level {
    /// The fastest this machine has.
    pub(crate) fn best() -> Self {
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        if avx512::available() {
            return Level::Avx512;
        } else if avx2::available() {
            return Level::Avx2;
        }
        Level::Scalar
    }

    /// Whether the filters of more than a few taps take coefficients as [`crate::plan::Digits`].
    pub(crate) fn uses_digits(self) -> bool {
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        return self == Level::Avx512;
        #[cfg(any(infeed_portable, not(target_arch = "x86_64")))]
        false
    }

    /// All levels that this machine has.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        #[cfg_attr(any(infeed_portable, not(target_arch = "x86_64")), expect(unused_mut))]
        let mut all = vec![Level::Scalar];
        #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
        {
            all.extend(avx2::available().then_some(Level::Avx2));
            all.extend(avx512::available().then_some(Level::Avx512));
        }
        all
    }

    /// Filters rows horizontally. Each of `rows` holds `plan.reach` pixels and [`PAD`] bytes; `out` is
    /// [`BATCH`] slots of `slot` bytes, each a row and [`PAD`] bytes.
    pub(crate) fn horizontal(
        self,
        plan: &Plan,
        channels: usize,
        rows: [&[u8]; BATCH],
        out: &mut [u8],
        slot: usize,
    ) {
        assert!(rows.iter().all(|row| row.len() >= plan.reach * channels + PAD));
        assert!(plan.split.len() == plan.starts.len() * (plan.taps / GROUP));
        assert!(slot >= plan.starts.len() * channels + PAD && out.len() == BATCH * slot);
        match self {
            Level::Scalar => {
                for (row, out) in rows.iter().zip(out.chunks_exact_mut(slot)) {
                    scalar::horizontal(plan, channels, row, out);
                }
            }
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            Level::Avx2 => {
                let outs = std::array::from_fn(|i| out[i * slot..].as_mut_ptr());
                // SAFETY: this level exists only where AVX2 does, and the lengths are those asserted above.
                unsafe { avx2::horizontal(plan, channels, rows.map(<[u8]>::as_ptr), outs) };
            }
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            Level::Avx512 if channels == 1 => Level::Avx2.horizontal(plan, channels, rows, out, slot),
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            Level::Avx512 => {
                assert!(plan.most <= SPLIT_MOST || plan.digits.len() == plan.split.len());
                let outs = std::array::from_fn(|i| out[i * slot..].as_mut_ptr());
                // SAFETY: this level exists only where AVX-512 with VNNI does, and the lengths are asserted above.
                unsafe { avx512::horizontal(plan, channels, rows.map(<[u8]>::as_ptr), outs) };
            }
        }
    }

    /// Filters `columns` bytes of the rows at `rows` (offsets into `ring`, `plan.taps` of them) into `out`,
    /// with the weights of output `index`. Each row and `out` is followed by [`PAD`] bytes.
    pub(crate) fn vertical(
        self,
        plan: &Plan,
        index: usize,
        ring: &[u8],
        rows: &[usize],
        columns: usize,
        out: &mut [u8],
    ) {
        assert!(rows.len() == plan.taps && out.len() >= columns + PAD);
        match self {
            Level::Scalar => {
                let coefficients = &plan.coefficients[index * plan.taps..][..plan.taps];
                scalar::vertical(ring, rows, coefficients, &mut out[..columns]);
            }
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            Level::Avx2 | Level::Avx512 => {
                assert!(rows.iter().all(|row| row + columns + PAD <= ring.len()));
                let groups = plan.taps / GROUP;
                let split = &plan.split[index * groups..][..groups];
                let digits =
                    if plan.digits.is_empty() { &[] } else { &plan.digits[index * groups..][..groups] };
                let (ring, out) = (ring.as_ptr(), out.as_mut_ptr());
                // SAFETY: the levels exist only where their instructions do, and the lengths are asserted above.
                unsafe {
                    if self == Level::Avx2 {
                        avx2::vertical(ring, rows, split, plan.most, columns, out);
                    } else {
                        avx512::vertical(ring, rows, (split, digits), plan.most, columns, out);
                    }
                }
            }
        }
    }

    /// Stores a row at element `base` of `out`; the caller has checked that it fits. The row is followed by [`PAD`]
    /// readable bytes; `spare` is scratch of the same size.
    pub(crate) fn finish(self, finish: &Finish, row: &[u8], spare: &mut [u8], out: &mut [u8], base: usize) {
        let bytes = finish.width * finish.channels + PAD;
        assert!(row.len() >= bytes && spare.len() >= bytes);
        let end = match finish.layout {
            Layout::Hwc => finish.width * finish.channels,
            Layout::Chw => (finish.channels - 1) * finish.plane_stride + finish.width,
        };
        assert!((base + end) * finish.dtype.size() <= out.len());
        match self {
            Level::Scalar => scalar::finish(finish, row, out, base),
            // SAFETY: this level exists only where AVX2 and F16C do, and the lengths are those asserted above.
            #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
            Level::Avx2 | Level::Avx512 => unsafe { avx2::finish(finish, row, spare, out, base) },
        }
    }
}
