//! A batch, from files and finished rows to one array on a device.

use crate::{
    Result,
    machine::{Machine, Stretch, Target},
};
use infeed_core::{Deferred, Error as CoreError, Scratch, parallel};

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

/// Makes batches on a machine.
#[derive(Debug)]
pub struct Renderer {
    machine: Box<dyn Machine>,
    /// Threads for rows that the device refuses.
    threads: usize,
    /// Rows of the last batch that the device decoded: number in its list, and row.
    drawn: Vec<(usize, usize)>,
}

impl Renderer {
    /// A renderer that makes what the machine refuses on this many threads.
    pub fn new(machine: Box<dyn Machine>, threads: usize) -> Self {
        Renderer { machine, threads: threads.max(1), drawn: vec![] }
    }

    /// What the machine is.
    pub fn describe(&self) -> String {
        self.machine.describe()
    }

    /// Seconds of the host, by what they were spent on.
    pub fn seconds(&self) -> Vec<(&'static str, f64)> {
        self.machine.seconds()
    }

    /// Starts making a batch. Its memory is complete once the work of the target's stream is done.
    pub fn render(&mut self, rows: &[Row<'_>], target: Target) -> Result<Outcome> {
        check(rows, target)?;
        let deferred: Vec<(usize, &Deferred)> = rows
            .iter()
            .enumerate()
            .filter_map(
                |(row, what)| if let Row::Deferred(image) = what { Some((row, *image)) } else { None },
            )
            .collect();
        self.machine.begin()?;
        let images: Vec<&Deferred> = deferred.iter().map(|(_, image)| *image).collect();
        let taken = self.machine.decode(&images)?;
        // The engines are at work: meanwhile everything else is brought to its place.
        let refused: Vec<(usize, &Deferred)> =
            deferred.iter().zip(&taken).filter(|(_, taken)| !**taken).map(|(image, _)| *image).collect();
        let made = self.make(&refused, target.row)?;
        let mut out = Outcome {
            device: deferred.len() - refused.len(),
            made: rows.len() - deferred.len(),
            refused: refused.len(),
            bad: vec![],
        };
        let mut here = made.into_iter();
        let staged: Vec<(usize, Option<Staged<'_>>)> = rows
            .iter()
            .enumerate()
            .filter_map(|(row, what)| match what {
                Row::Made(bytes) => Some((row, Some(Staged::Lent(bytes)))),
                Row::Deferred(_) if refused.iter().any(|(other, _)| *other == row) => match here.next() {
                    Some(Ok(bytes)) => Some((row, Some(Staged::Own(bytes)))),
                    Some(Err(error)) => {
                        out.bad.push((row, error));
                        Some((row, None))
                    }
                    None => None,
                },
                Row::Deferred(_) => None,
            })
            .collect();
        self.stage(&staged, target)?;
        let drawn = deferred.iter().enumerate().zip(&taken).filter(|(_, taken)| **taken);
        let drawn: Vec<(usize, usize, &Deferred)> =
            drawn.map(|((number, (row, image)), _)| (number, *row, *image)).collect();
        self.machine.draw(target, &drawn)?;
        self.drawn = drawn.iter().map(|(number, row, _)| (*number, *row)).collect();
        Ok(out)
    }

    /// Makes rows on this machine's threads.
    fn make(&self, rows: &[(usize, &Deferred)], bytes: usize) -> Result<Vec<Result<Vec<u8>, CoreError>>> {
        let one = |at: usize| {
            let mut out = vec![0; bytes];
            let done = rows[at].1.image().render(&mut Scratch::new(), &mut out);
            // A row that cannot be made is data; only what goes wrong outside of a row is an error.
            Ok(done.map(|()| out))
        };
        Ok(parallel::map(rows.len(), self.threads, one)?)
    }

    /// Copies finished rows to the device, neighbours together.
    fn stage(&mut self, rows: &[(usize, Option<Staged<'_>>)], target: Target) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let room = self.machine.staging(rows.len() * target.row)?;
        let mut stretches: Vec<Stretch> = vec![];
        for (at, (row, what)) in rows.iter().enumerate() {
            let place = &mut room[at * target.row..][..target.row];
            match what {
                Some(Staged::Lent(bytes)) => place.copy_from_slice(bytes),
                Some(Staged::Own(bytes)) => place.copy_from_slice(bytes),
                None => place.fill(0),
            }
            match stretches.last_mut() {
                Some(last) if last.to + last.count == *row => last.count += 1,
                _ => stretches.push(Stretch { from: at, to: *row, count: 1 }),
            }
        }
        self.machine.place(target, &stretches)
    }

    /// The machine, and what it decoded of the last batch.
    pub(crate) fn last(&mut self) -> (&mut dyn Machine, &[(usize, usize)]) {
        (&mut *self.machine, &self.drawn)
    }
}

/// A finished row.
enum Staged<'a> {
    Lent(&'a [u8]),
    Own(Vec<u8>),
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
