//! A machine without a GPU: the loader's own decoder and resampler, in memory of the process.

use crate::{
    Result,
    machine::{Machine, Stretch, Target, Work},
};
use infeed_core::{Deferred, Drawing, Error as CoreError, Scratch};

/// Whether decoders take an image.
type Takes = fn(&Drawing<'_>) -> bool;

/// Stands for a GPU in tests: takes images in the same order of calls, and its targets are memory of the process.
#[derive(Debug)]
pub struct Host {
    takes: Takes,
}

impl Host {
    /// Takes all images.
    pub fn new() -> Self {
        Host::that_takes(|_| true)
    }

    /// Takes only some images, as engines do.
    pub fn that_takes(takes: Takes) -> Self {
        Host { takes }
    }
}

impl Default for Host {
    fn default() -> Self {
        Host::new()
    }
}

impl Machine for Host {
    fn ask(&self, images: &[&Deferred]) -> Result<Vec<bool>> {
        Ok(images.iter().map(|image| image.drawing().is_some_and(|drawing| (self.takes)(&drawing))).collect())
    }

    fn decode(&self, images: &[&Deferred], asked: &[bool]) -> Result<Box<dyn Work>> {
        let mut scratch = Scratch::new();
        let pixels: Vec<Option<Vec<u8>>> = images
            .iter()
            .zip(asked)
            .map(|(image, asked)| if *asked { image.pixels(&mut scratch).ok() } else { None })
            .collect();
        let taken = pixels.iter().map(Option::is_some).collect();
        Ok(Box::new(UnderWay { taken, scratch, pixels, staging: vec![] }))
    }

    fn describe(&self) -> String {
        "this machine's processor, in place of a GPU".to_owned()
    }
}

#[derive(Debug)]
struct UnderWay {
    taken: Vec<bool>,
    scratch: Scratch,
    pixels: Vec<Option<Vec<u8>>>,
    staging: Vec<u8>,
}

impl UnderWay {
    fn of(&self, number: usize) -> Result<Vec<u8>> {
        let found = self.pixels.get(number).cloned().flatten();
        let lost = || CoreError::Internal { what: format!("image {number} was not decoded") };
        Ok(found.ok_or_else(lost)?)
    }
}

/// A row of a target.
fn place_of(target: Target, row: usize) -> Result<&'static mut [u8]> {
    if row >= target.rows {
        return Err(CoreError::Internal { what: format!("row {row} of {}", target.rows) }.into());
    }
    let at = target.address as usize + row * target.row;
    // SAFETY: whoever made the target promised that these bytes are there and that nothing else uses them.
    Ok(unsafe { std::slice::from_raw_parts_mut(at as *mut u8, target.row) })
}

impl Work for UnderWay {
    fn taken(&self) -> &[bool] {
        &self.taken
    }

    fn staging(&mut self, bytes: usize) -> Result<&mut [u8]> {
        self.staging.clear();
        self.staging.resize(bytes, 0);
        Ok(&mut self.staging)
    }

    fn place(&mut self, target: Target, stretches: &[Stretch]) -> Result<()> {
        for Stretch { from, to, count } in stretches {
            for at in 0..*count {
                let row = &self.staging[(from + at) * target.row..][..target.row];
                place_of(target, to + at)?.copy_from_slice(row);
            }
        }
        Ok(())
    }

    fn draw(&mut self, target: Target, images: &[(usize, usize, &Deferred)]) -> Result<()> {
        for (number, row, image) in images {
            let over = image.over(self.of(*number)?)?;
            over.render(&mut self.scratch, place_of(target, *row)?)?;
        }
        Ok(())
    }

    fn pixels(&mut self, number: usize, _: &Deferred) -> Result<Vec<u8>> {
        self.of(number)
    }

    fn row(&mut self, target: Target, row: usize) -> Result<Vec<u8>> {
        Ok(place_of(target, row)?.to_vec())
    }
}
