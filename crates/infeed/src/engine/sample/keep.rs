//! Samples that are kept in the middle of being made, and that go on from there.

use super::{FieldUnderWay, Maker, Start};
use crate::{batch::SampleSlot, decode::codec_of, engine::plan::Kept};
use infeed_core::{
    Bytes, Error, ImageCodec, Result, Value,
    keep::{Reader, Writer},
};

fn codec(bytes: &[u8]) -> Result<&'static dyn ImageCodec> {
    codec_of(bytes).map(|found| found.codec)
}

impl<'a> Maker<'a> {
    /// Makes a sample and keeps what it is at the cut, once all of it has come out well.
    pub(super) fn make_and_keep(
        &mut self,
        kept: &'a Kept,
        stamp: u128,
        slot: &mut SampleSlot<'_>,
    ) -> Result<bool> {
        let branch = self.branch;
        self.begun = branch.chains.iter().map(|_| None).collect();
        let (before, behind) = branch.filters.split_at(kept.filters);
        let mut out = Writer::default();
        if !self.passes(before)? {
            // Nothing stands for a sample that a filter has dropped, a text for one that goes on.
            out.value(&Value::Missing, self.scratch)?;
            kept.shelf.put(stamp, &out.finish()?);
            return Ok(false);
        }
        out.value(&Value::Text(String::new()), self.scratch)?;
        for field in &kept.columns {
            let chain = &branch.chains[field.column];
            let named = |e: Error| e.in_field(&chain.name);
            if !field.decoded {
                let Start::Stored { at, .. } = &chain.start else { continue };
                let value = self.record.fields.get(*at).unwrap_or(&Value::Missing);
                out.value(value, self.scratch).map_err(named)?;
                continue;
            }
            self.reach(field.column, field.after)?;
            if let Some(begun) = &mut self.begun[field.column] {
                begun.value.prepare_to_keep(field.encoded, self.scratch).map_err(named)?;
                out.value(&begun.value, self.scratch).map_err(named)?;
            }
        }
        let bytes = out.finish()?;
        let passes = self.passes(behind)?;
        if passes {
            self.write(kept.joints.iter().map(|number| &branch.joints[*number]), slot)?;
        }
        kept.shelf.put(stamp, &bytes);
        Ok(passes)
    }

    /// Goes on with a sample that was kept.
    pub(super) fn go_on(&mut self, kept: &'a Kept, bytes: Bytes, slot: &mut SampleSlot<'_>) -> Result<bool> {
        let branch = self.branch;
        self.begun = branch.chains.iter().map(|_| None).collect();
        self.scratch.claim(bytes.len() as u64)?;
        let mut from = Reader::new(bytes);
        if matches!(from.value(codec)?, Value::Missing) {
            return Ok(false);
        }
        for field in &kept.columns {
            let chain = &branch.chains[field.column];
            let mut value = from.value(codec)?;
            if !field.decoded {
                value = self.decoded(chain, value).map_err(|e| e.in_field(&chain.name))?;
            }
            self.begun[field.column] = Some(FieldUnderWay { value, done: field.after, forks: field.forks });
        }
        let behind = &branch.filters[kept.filters..];
        if !self.passes(behind)? {
            return Ok(false);
        }
        self.write(kept.joints.iter().map(|number| &branch.joints[*number]), slot)?;
        Ok(true)
    }
}
