//! A batch, from files and finished rows to one array on a device.

use crate::{
    Result,
    machine::{Machine, Stretch, Target, Work},
};
use infeed_core::{Deferred, Error as CoreError, Scratch, parallel};
use std::collections::BTreeMap;

/// One row of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Row<'a> {
    /// To be made.
    Deferred(&'a Deferred),
    /// The bytes of the result.
    Made(&'a [u8]),
}

/// What became of a batch.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Rows that the device decoded.
    pub device: usize,
    /// Rows that were made before.
    pub made: usize,
    /// Rows that the device did not take, though their headers looked as if it would: they were made here.
    pub refused: usize,
    /// Rows that could not be made at all, and why. Their places are filled with zeros.
    pub bad: Vec<(usize, CoreError)>,
}

/// Makes batches on a machine, in three steps that may each have a thread: ask, decode, draw.
#[derive(Debug)]
pub struct Renderer {
    machine: Box<dyn Machine>,
    /// Threads for rows that the device refuses.
    threads: usize,
}

/// What the machine says of the images of a batch.
#[derive(Debug)]
pub struct Asked {
    /// The rows that are deferred, and whether each is taken.
    rows: Vec<(usize, bool)>,
}

/// A batch whose images are decoded.
#[derive(Debug)]
pub struct Decoded {
    work: Box<dyn Work>,
    /// The rows that are deferred.
    rows: Vec<usize>,
    /// Rows that the machine refused, made here.
    here: BTreeMap<usize, Result<Vec<u8>, CoreError>>,
}

/// What a device has decoded: number in its list, row and image.
type Drawn<'r> = (usize, usize, &'r Deferred);

/// The images of a batch that are deferred, with their rows.
fn deferred<'a>(rows: &'a [Row<'a>]) -> impl Iterator<Item = (usize, &'a Deferred)> {
    let of = |(row, what): (usize, &'a Row<'a>)| match what {
        Row::Deferred(image) => Some((row, *image)),
        Row::Made(_) => None,
    };
    rows.iter().enumerate().filter_map(of)
}

impl Renderer {
    /// A renderer that makes what the machine refuses on this many threads.
    pub fn new(machine: Box<dyn Machine>, threads: usize) -> Self {
        Renderer { machine, threads: threads.max(1) }
    }

    /// What the machine is.
    pub fn describe(&self) -> String {
        self.machine.describe()
    }

    /// Seconds of the host, by what they were spent on.
    pub fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.machine.seconds()
    }

    /// Asks which images of a batch the machine takes.
    pub fn ask(&self, rows: &[Row<'_>]) -> Result<Asked> {
        let images: Vec<&Deferred> = deferred(rows).map(|(_, image)| image).collect();
        let answers = self.machine.ask(&images)?;
        Ok(Asked { rows: deferred(rows).map(|(row, _)| row).zip(answers).collect() })
    }

    /// Decodes the images of the batch that was asked about.
    pub fn decode(&self, rows: &[Row<'_>], asked: &Asked) -> Result<Decoded> {
        let images: Vec<(usize, &Deferred)> = deferred(rows).collect();
        if !images.iter().map(|(row, _)| row).eq(asked.rows.iter().map(|(row, _)| row)) {
            return Err(CoreError::Internal { what: "another batch was asked about".to_owned() }.into());
        }
        let list: Vec<&Deferred> = images.iter().map(|(_, image)| *image).collect();
        let answers: Vec<bool> = asked.rows.iter().map(|(_, yes)| *yes).collect();
        let work = self.machine.decode(&list, &answers)?;
        let refused: Vec<(usize, &Deferred)> =
            images.iter().zip(work.taken()).filter(|(_, taken)| !**taken).map(|(image, _)| *image).collect();
        let made = self.make(&refused)?;
        let here = refused.iter().map(|(row, _)| *row).zip(made).collect();
        Ok(Decoded { work, rows: images.iter().map(|(row, _)| *row).collect(), here })
    }

    /// Makes images on this machine's threads.
    fn make(&self, images: &[(usize, &Deferred)]) -> Result<Vec<Result<Vec<u8>, CoreError>>> {
        let one = |at: usize| {
            let image = images[at].1.image();
            let mut out = vec![0; image.bytes()];
            let done = image.render(&mut Scratch::new(), &mut out);
            // A row that cannot be made is data; only what goes wrong outside of a row is an error.
            Ok(done.map(|()| out))
        };
        Ok(parallel::map(images.len(), self.threads, one)?)
    }

    /// All three steps.
    pub fn render(&self, rows: &[Row<'_>], target: Target) -> Result<(Outcome, Decoded)> {
        let mut decoded = self.decode(rows, &self.ask(rows)?)?;
        Ok((decoded.draw(rows, target)?, decoded))
    }
}

impl Decoded {
    /// Starts drawing the batch. Its memory is complete once the work of the target's stream is done.
    pub fn draw(&mut self, rows: &[Row<'_>], target: Target) -> Result<Outcome> {
        check(rows, target)?;
        let mut out = Outcome { refused: self.here.len(), ..Outcome::default() };
        out.device = self.rows.len() - out.refused;
        out.made = rows.len() - self.rows.len();
        let mut staged: Vec<(usize, Option<&[u8]>)> = vec![];
        for (row, what) in rows.iter().enumerate() {
            match (what, self.here.get(&row)) {
                (Row::Made(bytes), _) => staged.push((row, Some(bytes))),
                (Row::Deferred(_), Some(Ok(bytes))) => staged.push((row, Some(bytes))),
                (Row::Deferred(_), Some(Err(error))) => {
                    out.bad.push((row, error.clone()));
                    staged.push((row, None));
                }
                (Row::Deferred(_), None) => {}
            }
        }
        stage(&mut *self.work, &staged, target)?;
        let drawn = self.drawn(rows)?;
        self.work.draw(target, &drawn)?;
        Ok(out)
    }

    /// What the device decoded.
    fn drawn<'r>(&self, rows: &'r [Row<'r>]) -> Result<Vec<Drawn<'r>>> {
        let images: Vec<(usize, &Deferred)> = deferred(rows).collect();
        if !images.iter().map(|(row, _)| row).eq(&self.rows) {
            return Err(CoreError::Internal { what: "another batch was decoded".to_owned() }.into());
        }
        let taken = images.into_iter().enumerate().zip(self.work.taken()).filter(|(_, taken)| **taken);
        Ok(taken.map(|((number, (row, image)), _)| (number, row, image)).collect())
    }

    /// The work, and what it has drawn.
    pub(crate) fn parts<'r>(&mut self, rows: &'r [Row<'r>]) -> Result<(&mut dyn Work, Vec<Drawn<'r>>)> {
        let drawn = self.drawn(rows)?;
        Ok((&mut *self.work, drawn))
    }
}

/// Copies finished rows to the device, neighbours together. Those that are not there become zeros.
fn stage(work: &mut dyn Work, rows: &[(usize, Option<&[u8]>)], target: Target) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let room = work.staging(rows.len() * target.row)?;
    let mut stretches: Vec<Stretch> = vec![];
    for (at, ((row, what), place)) in rows.iter().zip(room.chunks_exact_mut(target.row)).enumerate() {
        match what {
            Some(bytes) => place.copy_from_slice(bytes),
            None => place.fill(0),
        }
        match stretches.last_mut() {
            Some(last) if last.to + last.count == *row => last.count += 1,
            _ => stretches.push(Stretch { from: at, to: *row, count: 1 }),
        }
    }
    work.place(target, &stretches)
}

fn check(rows: &[Row<'_>], target: Target) -> Result<()> {
    let fits = |row: &Row<'_>| match row {
        Row::Made(bytes) => bytes.len() == target.row,
        Row::Deferred(image) => image.drawing().is_some_and(|d| d.result_bytes() == target.row),
    };
    if rows.len() == target.rows && rows.iter().all(fits) {
        return Ok(());
    }
    let what = format!("a batch of {} rows does not fit {} of {} bytes", rows.len(), target.rows, target.row);
    Err(CoreError::Internal { what }.into())
}

#[cfg(test)]
mod tests;
