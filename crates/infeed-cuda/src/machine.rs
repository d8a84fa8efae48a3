//! What a device does for a batch, as a trait: tests of everything around it need no GPU.

use crate::Result;
use infeed_core::Deferred;
use std::fmt::Debug;

/// The array that a batch is drawn into: rows of the same size, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub(crate) address: u64,
    /// Bytes of one row.
    pub(crate) row: usize,
    pub(crate) rows: usize,
    /// The stream on which it may be written, and on which readers wait.
    pub(crate) stream: u64,
}

impl Target {
    /// Memory of the device.
    ///
    /// # Safety
    /// There must be `rows * row` bytes at `address`, aligned for the type of the values, in memory of the machine that it is
    /// given to, which nothing else uses until the work of `stream` is done. The stream must be one of the device.
    pub unsafe fn new(address: u64, row: usize, rows: usize, stream: u64) -> Self {
        Target { address, row, rows, stream }
    }
}

/// Rows that lie in staging memory one after the other and belong into the target one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The first row in staging memory.
    pub from: usize,
    /// The first row in the target.
    pub to: usize,
    /// How many.
    pub count: usize,
}

/// A device that makes batches, several at a time: while one thread asks about the next batch another waits for engines, and a
/// third draws.
pub trait Machine: Debug + Send + Sync {
    /// Asks the decoders which images they take. They see headers alone.
    fn ask(&self, images: &[&Deferred]) -> Result<Vec<bool>>;

    /// Decodes the images that were asked about with success.
    fn decode(&self, images: &[&Deferred], asked: &[bool]) -> Result<Box<dyn Work>>;

    /// What it is, in words.
    fn describe(&self) -> String;

    /// Seconds spent, by what they were spent on.
    fn seconds(&self) -> Vec<(&'static str, f64)> {
        vec![]
    }
}

/// A batch under way, with memory of its own. The calls come in the order of the methods.
pub trait Work: Debug + Send {
    /// Which images were decoded.
    fn taken(&self) -> &[bool];

    /// Memory for rows that are made already.
    fn staging(&mut self, bytes: usize) -> Result<&mut [u8]>;

    /// Copies rows from there.
    fn place(&mut self, target: Target, stretches: &[Stretch]) -> Result<()>;

    /// Draws images: each with its number in the list that was decoded, and its row of the target.
    fn draw(&mut self, target: Target, images: &[(usize, usize, &Deferred)]) -> Result<()>;

    /// Pixels that were decoded, for checks: waits for them. They are gray or red, green, blue, as [`Deferred::drawing`] says.
    fn pixels(&mut self, number: usize, image: &Deferred) -> Result<Vec<u8>>;

    /// A row of a target, for checks: waits for it.
    fn row(&mut self, target: Target, row: usize) -> Result<Vec<u8>>;
}
