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
    /// Available columns.
    pub width: u32,
    /// Available rows.
    pub height: u32,
    /// Interleaved channels: 1, 3 or 4.
    pub channels: usize,
    /// The column and row of the first available pixel in the picture.
    pub origin: (u32, u32),
}
