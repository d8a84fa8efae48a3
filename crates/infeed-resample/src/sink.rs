//! The output: where and how finished values are stored.

/// Type of the stored values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 8-bit unsigned; rounded to nearest even and clipped.
    U8,
    /// 32-bit float.
    F32,
    /// IEEE half precision; rounded to nearest even.
    F16,
    /// The upper half of a 32-bit float; rounded to nearest even.
    Bf16,
}

impl Dtype {
    /// Bytes of one value.
    pub fn size(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::F16 | Dtype::Bf16 => 2,
            Dtype::F32 => 4,
        }
    }
}

/// Order of the stored values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Channels of a pixel next to each other.
    Hwc,
    /// One plane per channel.
    Chw,
}

/// Where finished values go.
///
/// The value of channel `c`, row `y`, column `x` of the window becomes `value * scale[c] + bias[c]` (two
/// roundings, not a fused one) and is stored at element
/// `offset + y * row_stride + (x * channels + c, or c * plane_stride + x)`, rows and columns counted from the
/// other end where flipped. Values are in native byte order and need no alignment. Nothing between the rows
/// is touched, so the window can be a rectangle of a larger, padded output.
#[derive(Debug)]
pub struct Sink<'a> {
    /// The memory to write.
    pub out: &'a mut [u8],
    /// Type of the values.
    pub dtype: Dtype,
    /// Order of the values.
    pub layout: Layout,
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one plane to the next (only read for [`Layout::Chw`]).
    pub plane_stride: usize,
    /// Element of the first value of the window.
    pub offset: usize,
    /// Mirror left and right.
    pub flip_h: bool,
    /// Mirror top and bottom.
    pub flip_v: bool,
    /// Factor per channel.
    pub scale: [f32; 4],
    /// Addend per channel.
    pub bias: [f32; 4],
}
