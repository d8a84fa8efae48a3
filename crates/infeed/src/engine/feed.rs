//! Where batches come from: rows looked up by number, or a stream.

use super::{
    Plan,
    course::{Course, Step},
    plan::StreamPlan,
    state::{Fetched, Flight, Piece, Ready},
};
use crate::order::{Last, Mixer, Permutation, World};
use infeed_core::{At, Begin, Cursor, Error, Flow, Hold, Record, Result, StreamRow, memory::readable};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// Where the rows of a step come from.
#[derive(Debug)]
pub(super) enum Feed {
    /// An order: any step can be computed at any time.
    Rows(Course),
    /// A stream: steps come one after the other.
    Stream(Box<Mutex<Pull>>),
    /// Row numbers from outside, for the epoch named here.
    Given(u64, Mutex<VecDeque<Vec<u64>>>),
}

impl Feed {
    pub(super) fn new(plan: &Plan, world: &World, start: Cursor, reading: StreamReading) -> Self {
        match &plan.stream {
            None => Feed::Rows(Course::new(plan, world, start)),
            Some(stream) => {
                Feed::Stream(Box::new(Mutex::new(Pull::new(plan, stream.clone(), world, start, reading))))
            }
        }
    }

    /// Returns the next step that was given from outside.
    pub(super) fn given(&self) -> Option<Step> {
        let Feed::Given(epoch, steps) = self else { return None };
        let rows = steps.hold().pop_front()?;
        Some(Step { epoch: *epoch, global: 0..0, rows, pads: 0, after: Cursor::default(), ends_epoch: false })
    }

    /// Returns the next batch of a stream. Blocks on reads; only one thread may call it at a time.
    pub(super) fn pull(&self, number: u64) -> Option<Flight> {
        let Feed::Stream(pull) = self else { return None };
        let mut pull = pull.hold();
        Some(pull.flight(number).unwrap_or_else(|error| Flight { number, ..Flight::failed(error) }))
    }
}

/// How a stream is read.
#[derive(Debug, Clone)]
pub(super) struct StreamReading {
    /// Threads it may use.
    pub(super) threads: usize,
    /// Whether bad rows are skipped.
    pub(super) lenient: bool,
    /// Most bytes of the rows of a batch.
    pub(super) batch_bytes: u64,
    /// The mark of the place where it starts.
    pub(super) mark: Option<String>,
}

/// A row of a stream with its number.
type NumberedRow = (u64, StreamRow);

/// A running stream, cut into the batches of one rank.
///
/// Every rank reads the whole stream and keeps every `size`-th row. The number of rows is not known in advance; this
/// way the ranks have different rows, the same number of steps and shares that differ by at most one row.
#[derive(Debug)]
pub(super) struct Pull {
    plan: StreamPlan,
    fields: Vec<Arc<str>>,
    /// Maximum rows per piece.
    piece: usize,
    last: Last,
    world: World,
    global: u64,
    at: Cursor,
    reading: StreamReading,
    flow: Option<Box<dyn Flow>>,
    mixer: Option<Mixer<NumberedRow>>,
    /// Rows that came out of the flow in this epoch.
    read: u64,
    /// One row read ahead, to detect the end.
    ahead: Option<NumberedRow>,
    /// This rank's last row, repeated when the rank would get none.
    spare: Option<NumberedRow>,
}

impl Pull {
    fn new(plan: &Plan, stream: StreamPlan, world: &World, at: Cursor, reading: StreamReading) -> Self {
        Pull {
            plan: stream,
            fields: plan.fields.clone(),
            // With hardly any work per row, sharing a batch between workers costs more than it saves.
            piece: if plan.only_gathers() { usize::MAX } else { PIECE_ROWS },
            last: plan.last,
            world: world.clone(),
            global: plan.batch.global(world.size),
            at,
            reading,
            flow: None,
            mixer: None,
            read: 0,
            ahead: None,
            spare: None,
        }
    }

    /// Starts the epoch and skips the rows that were given out before.
    fn open(&mut self) -> Result<()> {
        let parts = self.plan.stream.parts();
        let mut order: Vec<u64> = (0..parts).collect();
        if let Some(shuffle) = &self.plan.shuffle {
            Permutation::new(parts, shuffle.seed, self.at.epoch).resolve(&mut order);
            self.mixer = Some(Mixer::new(shuffle.buffer, shuffle.initial, shuffle.seed, self.at.epoch));
        }
        let wanted = self.plan.skip + self.at.place;
        let mark = self.reading.mark.take();
        let mut begin = Begin {
            parts: &order,
            epoch: self.at.epoch,
            row: wanted,
            mark: mark.as_deref(),
            threads: self.reading.threads,
            lenient: self.reading.lenient,
        };
        if self.mixer.is_some() {
            // The content of a shuffle buffer depends on all rows before it, so it is filled from the start.
            (begin.row, begin.mark) = (0, None);
        }
        let (flow, reached) = self.plan.stream.begin(&begin)?;
        (self.flow, self.read) = (Some(flow), reached);
        self.pass(wanted.saturating_sub(reached))?;
        self.ahead = self.draw()?;
        Ok(())
    }

    /// Skips rows of the order.
    fn pass(&mut self, rows: u64) -> Result<()> {
        match (&self.mixer, &mut self.flow) {
            (None, Some(flow)) => self.read += flow.skip(rows)?,
            _ => {
                for _ in 0..rows {
                    if self.draw()?.is_none() {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the next row of the order.
    fn draw(&mut self) -> Result<Option<NumberedRow>> {
        let Some(flow) = &mut self.flow else { return Ok(None) };
        loop {
            let item = flow.next(&self.fields)?.map(|passing| {
                self.read += 1;
                (self.read - 1, passing)
            });
            match (&mut self.mixer, item) {
                (None, item) => return Ok(item),
                (Some(mixer), None) => return Ok(mixer.drain()),
                (Some(mixer), Some(item)) => {
                    if let Some(out) = mixer.push(item) {
                        return Ok(Some(out));
                    }
                }
            }
        }
    }

    /// Returns the next batch. A batch without rows means that the epoch ended with the one before.
    fn flight(&mut self, number: u64) -> Result<Flight> {
        if self.flow.is_none() {
            self.open()?;
        }
        let from = self.at.place;
        let left = self.plan.take.map_or(u64::MAX, |take| take.saturating_sub(from));
        let (mut mine, mut seen): (Vec<NumberedRow>, u64) = (vec![], 0);
        let mut bytes = 0;
        while seen < self.global.min(left) {
            let Some(mut item) = self.ahead.take() else { break };
            if seen % self.world.size == self.world.rank {
                self.plan.stream.finish(&mut item.1, &self.fields);
                bytes += item.1.record.as_ref().map_or(0, Record::memory);
                if bytes > self.reading.batch_bytes {
                    return Err(too_large(mine.len() + 1, self.reading.batch_bytes));
                }
                mine.push(item);
            }
            seen += 1;
            if seen < self.global.min(left) {
                self.ahead = self.draw()?;
            }
        }
        let over = self.ahead.is_none()
            && (seen >= left || seen < self.global || {
                self.ahead = self.draw()?;
                self.ahead.is_none()
            });
        let epoch = self.at.epoch;
        self.at.place += seen;
        if from == 0 && seen == 0 {
            return Err(Error::plan("stream", format!("{} has no rows", self.plan.stream.describe())));
        }
        let mut pads = 0;
        if seen < self.global && self.last == Last::Drop {
            mine.clear();
            seen = 0;
        } else if seen > 0 && mine.is_empty() {
            mine.push(self.spare.clone().ok_or_else(|| {
                let (rows, ranks) = (self.at.place, self.world.size);
                Error::plan("world", format!("more ranks than rows: there are {rows} rows for {ranks} ranks"))
            })?);
            pads = 1;
        }
        self.spare = mine.last().cloned().or(self.spare.take());
        let after = self.at;
        let bad = self.flow.as_mut().map(|flow| flow.bad()).unwrap_or_default();
        if over {
            (self.flow, self.mixer, self.ahead) = (None, None, None);
            self.at = Cursor { epoch: epoch + 1, place: 0 };
        }
        let ends_epoch = over;
        let is_end = mine.is_empty();
        Ok(Flight {
            ends_epoch,
            is_end,
            after,
            pads,
            bad,
            global: from..from + seen,
            ..flight(number, epoch, mine, self.piece)
        })
    }
}

/// The error of a batch that does not fit.
fn too_large(rows: usize, limit: u64) -> Error {
    Error::argument(format!(
        "the first {rows} rows of a batch take more than {}, the most that a batch may have; lower the batch size or raise \
         memory=",
        readable(limit)
    ))
}

/// Maximum rows per piece when samples take work: small enough that the workers share a batch.
const PIECE_ROWS: usize = 16;

/// Builds a batch whose records have been read already.
fn flight(number: u64, epoch: u64, items: Vec<NumberedRow>, most: usize) -> Flight {
    let rows: Vec<u64> = items.iter().map(|(row, _)| *row).collect();
    let names = items.iter().map(|(_, p)| (Arc::clone(&p.shard), p.key.clone())).collect();
    let mut ready: VecDeque<Ready> = VecDeque::new();
    for (place, (row, passing)) in items.into_iter().enumerate() {
        let at = || At {
            shard: passing.shard.to_string(),
            row: Some(row),
            key: Some(passing.key.clone()),
            field: None,
        };
        let record = passing.record.map(|record| Fetched::Stored(record, None)).map_err(|e| e.at(at()));
        match ready.back_mut() {
            Some(piece) if piece.records.len() < most => {
                piece.piece.places.push(place);
                piece.piece.rows.push(row);
                piece.records.push(record);
            }
            _ => ready.push_back(Ready {
                piece: Piece {
                    flight: number,
                    epoch,
                    places: vec![place],
                    rows: vec![row],
                    bytes: 0,
                    announced: false,
                },
                records: vec![record],
            }),
        }
    }
    Flight { number, epoch, left: rows.len(), rows, ready, names: Some(names), ..Flight::empty() }
}
