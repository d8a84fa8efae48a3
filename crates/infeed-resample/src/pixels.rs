//! The pixels a render reads.

/// Decoded pixels: rows of interleaved 8-bit channels, covering a rectangle of the picture.
///
/// A fourth channel is filtered like the others; alpha is not premultiplied.
#[derive(Debug, Clone, Copy)]
pub struct Pixels<'a> {
    /// The rows; the last one may end right after its last pixel.
    pub data: &'a [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Columns at hand.
    pub width: u32,
    /// Rows at hand.
    pub height: u32,
    /// Interleaved channels: 1, 3 or 4.
    pub channels: usize,
    /// The column and row of the picture that the first pixel at hand is.
    pub origin: (u32, u32),
}
