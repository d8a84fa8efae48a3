//! A picture to read from.

/// Interleaved 8-bit pixels, rows without gaps.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    /// The pixels: `width * height * channels` bytes.
    pub data: &'a [u8],
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes per pixel, 1 to 4.
    pub channels: usize,
}

impl<'a> Picture<'a> {
    /// Bytes of a row.
    pub fn stride(&self) -> usize {
        self.width * self.channels
    }

    /// One row.
    pub fn row(&self, y: usize) -> &'a [u8] {
        let stride = self.stride();
        &self.data[y * stride..(y + 1) * stride]
    }
}
