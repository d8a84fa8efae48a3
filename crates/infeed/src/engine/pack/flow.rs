//! The stream of packed sequences.

use super::{
    fields,
    marks::{Mark, Marks},
    sequence::{Sequence, Spot, Tape, fit, windows},
    settings::Settings,
};
use crate::{
    batch::{Batch, Column},
    engine::{Loader, Next, Run},
    recipe::PackMode,
};
use infeed_core::{Error, Flow, Result, StreamRow, Tensor, Value, read_integers};
use std::{collections::VecDeque, sync::Arc};

/// A running pack stage.
#[derive(Debug)]
pub(super) struct PackFlow {
    loader: Loader,
    run: Run,
    settings: Arc<Settings>,
    marks: Arc<Marks>,
    epoch: u64,
    /// The number of the next sequence.
    row: u64,
    /// The part of the first documents that earlier sequences have used.
    behind: Option<Spot>,
    tape: Tape,
    ready: VecDeque<(Spot, Sequence)>,
    over: bool,
    bad: Vec<(u64, Error)>,
    name: Arc<str>,
}

impl PackFlow {
    pub(super) fn new(
        mut loader: Loader,
        settings: Arc<Settings>,
        marks: Arc<Marks>,
        from: Mark,
    ) -> Result<Self> {
        let run = loader.start()?;
        let behind = Spot { place: from.place, skip: from.skip, offset: from.offset };
        Ok(PackFlow {
            loader,
            run,
            settings,
            marks,
            epoch: from.epoch,
            row: from.row,
            behind: Some(behind),
            tape: Tape::default(),
            ready: VecDeque::new(),
            over: false,
            bad: vec![],
            name: "packed".into(),
        })
    }

    fn sequence(&mut self) -> Result<Option<Sequence>> {
        loop {
            if self.ready.is_empty()
                && self.settings.mode == PackMode::Concat
                && let Some(next) = self.tape.pop(&self.settings, self.over)
            {
                self.ready.push_back(next);
            }
            if let Some((Spot { place, skip, offset }, sequence)) = self.ready.pop_front() {
                self.marks.add(Mark { epoch: self.epoch, row: self.row, place, skip, offset });
                self.row += 1;
                return Ok(Some(sequence));
            }
            if self.over {
                return Ok(None);
            }
            self.more()?;
        }
    }

    /// Reads some documents.
    fn more(&mut self) -> Result<()> {
        let place = self.loader.place();
        let Next::Batch(batch) = self.run.next(None)? else {
            self.over = true;
            return Ok(());
        };
        self.tell(&batch);
        let mut documents = documents(&batch, &self.settings)?;
        let behind = self.behind.take().unwrap_or_default();
        let skip = usize::try_from(behind.skip).unwrap_or(usize::MAX);
        match self.settings.mode {
            PackMode::FirstFit | PackMode::BestFit => {
                let made = fit(&self.settings, &documents).into_iter().enumerate().skip(skip);
                self.ready.extend(
                    made.map(|(at, sequence)| (Spot { place, skip: at as u64, offset: 0 }, sequence)),
                );
            }
            mode => {
                for (at, document) in documents.iter_mut().enumerate().skip(skip) {
                    let offset = if at == skip { behind.offset } else { 0 };
                    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(document.len());
                    let spot = |offset| Spot { place, skip: at as u64, offset };
                    if mode == PackMode::Windows {
                        let made = windows(&self.settings, document, from).into_iter();
                        self.ready.extend(made.map(|(offset, sequence)| (spot(offset), sequence)));
                    } else {
                        self.tape.push(&document[from..], spot(offset));
                    }
                }
            }
        }
        Ok(())
    }

    /// Records documents that were left out, with the reasons.
    fn tell(&mut self, batch: &Batch) {
        if batch.left_out.is_empty() {
            return;
        }
        let known = self.loader.stats().bad;
        for (row, _) in &batch.left_out {
            let reason = known.iter().rev().find(|bad| bad.row == *row);
            let text = reason.map_or_else(|| format!("document {row} was left out"), |bad| bad.error.clone());
            self.bad.push((*row, Error::sample(text)));
        }
    }
}

impl Flow for PackFlow {
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        let number = self.row;
        let Some(sequence) = self.sequence()? else { return Ok(None) };
        let record = fields::record(&self.settings, fields, &sequence);
        Ok(Some(StreamRow { shard: Arc::clone(&self.name), key: number.to_string(), record }))
    }

    fn bad(&mut self) -> Vec<(u64, Error)> {
        std::mem::take(&mut self.bad)
    }
}

/// Returns the documents of a batch, each with its end token.
fn documents(batch: &Batch, settings: &Settings) -> Result<Vec<Vec<i64>>> {
    let Some((_, column)) = batch.columns.first() else { return Ok(vec![]) };
    let mut out: Vec<Vec<i64>> = Vec::with_capacity(batch.len());
    match column {
        Column::List(values) => {
            for value in values {
                let Value::Tensor(tensor) = value else {
                    return Err(Error::sample(format!("cannot pack {}", value.what())));
                };
                let mut document = Vec::with_capacity(tensor.shape.iter().product::<usize>() + 1);
                read_integers(tensor, &mut document)?;
                out.push(document);
            }
        }
        Column::Array { dtype, shape, .. } => {
            let data = column.bytes().unwrap_or_default().to_vec();
            let mut all = vec![];
            read_integers(&Tensor::new(*dtype, shape.clone(), data.into())?, &mut all)?;
            out.extend(all.chunks(shape.get(1).copied().unwrap_or(1).max(1)).map(<[i64]>::to_vec));
        }
        Column::Deferred { .. } => return Err(Error::sample("cannot pack images")),
    }
    if let Some(eod) = settings.eod {
        out.iter_mut().for_each(|document| document.push(eod));
    }
    Ok(out)
}
