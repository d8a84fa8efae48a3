//! Buffers for decoded samples, between blocks and rows: two rows of units per component, used alternately.

use super::Irregular;
use super::frame::Frame;
use super::window::Window;

/// Bytes after the last row, because wide stores and loads may reach beyond it.
const SLACK: usize = 64;

/// The layout of the samples of one component.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Plane {
    base: usize,
    pub(super) stride: usize,
    /// Rows kept: two rows of units.
    rows: usize,
    /// Samples per side of a block.
    pub(super) size: usize,
    /// Index of the first sample of every row in the whole component.
    first: usize,
    /// Samples per row that belong to the image.
    pub(super) width: usize,
    /// Rows of the whole component that belong to the image.
    height: usize,
}

/// The sample memory of all components. Only ever grows.
#[derive(Default)]
pub(super) struct Planes {
    pub(super) samples: Vec<u8>,
    pub(super) planes: [Plane; 3],
}

impl Planes {
    /// Allocates the planes for the units of a window, whose width is rounded up to whole batches.
    pub(super) fn layout(&mut self, frame: &Frame, window: &Window, batch: usize) -> Result<(), Irregular> {
        let columns = window.columns.len().next_multiple_of(batch);
        let mut base = 0;
        for (plane, component) in self.planes.iter_mut().zip(&frame.components) {
            let size = component.size;
            let stride = columns * component.across * size;
            let rows = component.down * size * 2;
            let first = window.columns.start * component.across * size;
            let (width, height) = frame.samples(component);
            let width = (width - first).min(window.columns.len() * component.across * size);
            *plane = Plane { base, stride, rows, size, first, width, height };
            base += stride * rows;
        }
        if self.samples.len() < base + SLACK {
            self.samples.try_reserve(base + SLACK - self.samples.len()).map_err(|_| Irregular)?;
            self.samples.resize(base + SLACK, 0);
        }
        Ok(())
    }

    /// The samples of one row that belong to the image. Rows outside the image are its nearest ones.
    pub(super) fn row(&self, component: usize, y: isize) -> &[u8] {
        let plane = &self.planes[component];
        let y = (y.max(0) as usize).min(plane.height - 1);
        &self.samples[plane.base + y % plane.rows * plane.stride..][..plane.width]
    }

    /// The column of the image that every row of the first component starts at.
    pub(super) fn first_column(&self) -> usize {
        self.planes[0].first
    }

    /// The part of a row between two columns of the whole component.
    pub(super) fn part(&self, component: usize, y: usize, from: usize, count: usize) -> &[u8] {
        &self.row(component, y as isize)[from - self.planes[component].first..][..count]
    }
}

impl Plane {
    /// The offset of the block that is `column` blocks from the left of the window and `row` blocks from the top
    /// of the image.
    #[inline(always)]
    pub(super) fn block(&self, column: usize, row: usize) -> usize {
        self.base + row * self.size % self.rows * self.stride + column * self.size
    }
}
