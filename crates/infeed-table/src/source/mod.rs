//! All shards of a table as one source.
//!
//! `reading` implements the source for the engine. `lookup` finds the block of a row. `filter` evaluates `where`.
//! `stats` computes column statistics.

pub(crate) mod filter;
pub(crate) mod lookup;
mod reading;
pub(crate) mod stats;

use crate::{
    block::{
        Cells, Decoded, FieldSet, MadeOf,
        decode::{BlockRef, decode},
        fault,
    },
    field::{
        cell_files::CellFiles,
        columns::Columns,
        loose::{self, Beside, Filling},
        numbers::Fault,
    },
    open::args::{Nulls, TableArgs},
    shard::{Blocks, limit::BlockLimit},
    source::{filter::Kept, lookup::Lookup},
};
use infeed_core::{
    Bytes, Dtype, Error, FieldSpec, Hold, Result, Spec, Stamp, Store, Tensor, Value, blocks::BlockCache,
};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

/// Blocks, each once, and for every row the index of its block in that list and the row within it.
pub(crate) type Places = (Vec<usize>, Vec<(u32, u32)>);

/// Rows of Parquet, Arrow, Avro, SQLite or CSV, by number.
#[derive(Debug)]
pub struct TableSource {
    /// The name of the format.
    pub(crate) kind: &'static str,
    /// The store of files that columns refer to.
    pub(crate) store: Arc<dyn Store>,
    /// The files that columns may name.
    pub(crate) cell_files: CellFiles,
    pub(crate) shards: Vec<Arc<dyn Blocks>>,
    /// The stamp of each shard, where its changes show.
    pub(crate) stamps: Vec<Option<Stamp>>,
    pub(crate) columns: Columns,
    pub(crate) spec: Spec,
    /// The origin of each field of the spec.
    pub(crate) made: Vec<Arc<MadeOf>>,
    pub(crate) nulls: Nulls,
    pub(crate) shard_rows: Vec<u64>,
    pub(crate) block_rows: Vec<u64>,
    /// Shard and block within it, for each block.
    pub(crate) blocks: Vec<(usize, usize)>,
    /// First row of each block within its shard, before filtering.
    pub(crate) block_starts: Vec<u64>,
    pub(crate) kept: Vec<Kept>,
    pub(crate) skipped: usize,
    pub(crate) lookup: Lookup,
    /// Estimated bytes per row of each field.
    pub(crate) weights: Vec<u64>,
    pub(crate) sets: Mutex<Vec<Arc<FieldSet>>>,
    pub(crate) cache: BlockCache<Decoded>,
    /// What a block may take.
    pub(crate) limit: Arc<BlockLimit>,
    /// Blocks that were announced to the store and not decoded yet.
    pub(crate) announced: Mutex<HashSet<usize>>,
}

impl TableSource {
    pub(crate) fn new(
        (kind, store, limit): (&'static str, &Arc<dyn Store>, Arc<BlockLimit>),
        shards: Vec<Arc<dyn Blocks>>,
        columns: Columns,
        fields: Vec<(Arc<str>, FieldSpec, MadeOf)>,
        args: &TableArgs,
    ) -> Result<Self> {
        let mut blocks = vec![];
        for (number, shard) in shards.iter().enumerate() {
            blocks.extend((0..shard.block_rows().len()).map(|block| (number, block)));
        }
        let (mut kept, mut skipped) = (vec![Kept::All; blocks.len()], 0);
        if let Some(text) = &args.filter {
            let chosen = filter::choose(text, &columns, &shards, &blocks)?;
            (kept, skipped) = (chosen.kept, chosen.skipped);
        }
        let rows_of = |(place, kept): (&(usize, usize), &Kept)| match kept {
            Kept::All => shards[place.0].block_rows()[place.1],
            Kept::Some(rows) => rows.len() as u64,
        };
        let mut block_rows: Vec<u64> = blocks.iter().zip(&kept).map(rows_of).collect();
        let mut shard_rows = vec![0; shards.len()];
        blocks.iter().zip(&block_rows).for_each(|(place, rows)| shard_rows[place.0] += rows);
        // Drop blocks without rows: they are never read.
        let mut full = block_rows.iter().map(|rows| *rows > 0);
        blocks.retain(|_| full.next() == Some(true));
        let mut full = block_rows.iter().map(|rows| *rows > 0);
        kept.retain(|_| full.next() == Some(true));
        block_rows.retain(|rows| *rows > 0);
        if block_rows.is_empty() {
            let name = shards.first().map_or("", |shard| shard.name());
            let what =
                if args.filter.is_some() { "no row fulfils where= in" } else { "there are no rows in" };
            let more = match shards.len() {
                0 | 1 => String::new(),
                2 => " and in another file".to_owned(),
                files => format!(" and in {} other files", files - 1),
            };
            return Err(Error::argument(format!("{what} `{name}`{more}")));
        }
        let lookup = Lookup::new(&block_rows);
        let starts: Vec<Lookup> = shards.iter().map(|shard| Lookup::new(shard.block_rows())).collect();
        let block_starts = blocks.iter().map(|(shard, block)| starts[*shard].start(*block)).collect();
        let spec =
            Spec { fields: fields.iter().map(|(name, spec, _)| (name.clone(), spec.clone())).collect() };
        let made: Vec<Arc<MadeOf>> = fields.into_iter().map(|(_, _, made)| Arc::new(made)).collect();
        let mut source = TableSource {
            kind,
            store: Arc::clone(store),
            cell_files: CellFiles::new(args.files.as_deref()),
            shards,
            stamps: vec![],
            columns,
            spec,
            made,
            nulls: args.nulls,
            shard_rows,
            block_rows,
            blocks,
            block_starts,
            kept,
            skipped,
            lookup,
            weights: vec![],
            sets: Mutex::default(),
            cache: BlockCache::default(),
            limit,
            announced: Mutex::default(),
        };
        source.weights = source
            .made
            .iter()
            .zip(&source.spec.fields)
            .map(|(made, field)| source.weigh(made, &field.1))
            .collect();
        Ok(source)
    }

    fn weigh(&self, made: &MadeOf, spec: &FieldSpec) -> u64 {
        if let Some(bytes) = spec.fixed_bytes() {
            return bytes as u64;
        }
        let MadeOf::Column { field, .. } = made else { return 0 };
        let all: u64 = self.shards.iter().map(|shard| shard.block_rows().iter().sum::<u64>()).sum();
        let size = |(shard, places): (&Arc<dyn Blocks>, &Arc<[crate::field::ColumnPlace]>)| {
            shard.column_bytes(places[*field].root)
        };
        self.shards.iter().zip(&self.columns.places).map(size).sum::<u64>().checked_div(all).unwrap_or(0)
    }

    /// Returns how many blocks were decoded since the source was opened, and how many `where`
    /// skipped without reading them.
    pub fn work(&self) -> (u64, usize) {
        (self.cache.decoded(), self.skipped)
    }

    /// Returns the set of these fields; the same set for the same names.
    pub(crate) fn set(&self, names: &[Arc<str>]) -> Result<Arc<FieldSet>> {
        let mut sets = self.sets.hold();
        if let Some(set) = sets.iter().find(|set| set.names == names) {
            return Ok(set.clone());
        }
        let place = |name: &Arc<str>| self.spec.require(name, "read").map(|place| self.made[place].clone());
        let made = names.iter().map(place).collect::<Result<Vec<_>>>()?;
        let set = Arc::new(FieldSet { names: names.to_vec(), made, number: sets.len() as u32 });
        sets.push(set.clone());
        Ok(set)
    }

    pub(crate) fn part(&self, block: usize) -> BlockRef<'_> {
        let (shard, inside) = self.blocks[block];
        let kept = if let Kept::Some(rows) = &self.kept[block] { Some(&**rows) } else { None };
        BlockRef { shard: &*self.shards[shard], block: inside, places: &self.columns.places[shard], kept }
    }

    pub(crate) fn decoded(&self, blocks: &[usize], set: &FieldSet) -> Result<Vec<Arc<Decoded>>> {
        let keys: Vec<(usize, u32)> = blocks.iter().map(|block| (*block, set.number)).collect();
        self.cache.get(&keys, &|(block, _)| {
            let part = self.part(block);
            self.announced.hold().remove(&block);
            decode(&part, &self.columns.fields, set, self.nulls, (self.cache.spares(), &self.limit))
        })
    }

    /// Announces the blocks of these rows to a store that is far away. A block that is decoded, or announced and not decoded yet,
    /// is not announced again.
    pub(crate) fn announce(&self, rows: &[u64], set: &FieldSet) -> Result<()> {
        let mut fields: Vec<usize> = Vec::new();
        for made in &set.made {
            match &**made {
                MadeOf::Column { field, .. } => fields.push(*field),
                MadeOf::Matrix { columns, .. } => fields.extend(columns.iter().map(|(field, _)| *field)),
            }
        }
        for block in self.places(rows)?.0 {
            if !self.cache.has((block, set.number)) && self.announced.hold().insert(block) {
                self.part(block).will_read(&fields);
            }
        }
        Ok(())
    }

    /// Locates rows: their blocks, each once, and for every row the index of its block in that
    /// list and the row within it.
    pub(crate) fn places(&self, rows: &[u64]) -> Result<Places> {
        let mut blocks = vec![];
        // Zero means not seen yet; untouched memory costs nothing.
        let mut seen = vec![0u32; self.blocks.len()];
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            let (block, inside) = self.lookup.find(*row).ok_or_else(|| self.outside(*row))?;
            if seen[block] == 0 {
                blocks.push(block);
                seen[block] = blocks.len() as u32;
            }
            places.push((seen[block] - 1, inside as u32));
        }
        Ok((blocks, places))
    }

    fn outside(&self, row: u64) -> Error {
        Error::Internal { what: format!("row {row} of {}", self.lookup.rows()) }
    }

    /// Returns one field of one row.
    pub(crate) fn value(
        &self,
        block: usize,
        decoded: &Decoded,
        row: usize,
        set: &FieldSet,
        at: usize,
    ) -> Result<Value> {
        let name = &set.names[at];
        let Ok(place) = self.spec.require(name, "read") else { return Ok(Value::Missing) };
        let spec = &self.spec.fields[place].1;
        match (&decoded.cells[at], &*set.made[at]) {
            (Cells::Packed { offset, width, faults }, made) => {
                if let Some((column, why)) = fault(faults, row) {
                    return match made {
                        MadeOf::Column { .. } if why == Fault::Null && self.nulls == Nulls::Auto => {
                            Ok(Value::Missing)
                        }
                        _ => Err(self.blame(made, column, why, spec.dtype).in_field(name)),
                    };
                }
                let data = Bytes::copy_from_slice(decoded.cell(row, *offset, *width));
                Ok(Value::Tensor(Tensor {
                    dtype: spec.dtype,
                    shape: spec.fixed_shape().unwrap_or_default(),
                    data,
                }))
            }
            (Cells::Loose(array), MadeOf::Column { field, fill }) => {
                let field = &self.columns.fields[*field];
                let shard = self.shards[self.blocks[block].0].name();
                let beside =
                    Beside { store: &*self.store, shard, files: &self.cell_files, limit: &self.limit };
                let value = loose::value(array, row, field, &beside).map_err(|e| e.in_field(name))?;
                Ok(match (value, fill) {
                    (Value::Missing, Some(Filling::Text(text))) => Value::Text(text.clone()),
                    (Value::Missing, _) if self.nulls == Nulls::Error => {
                        return Err(Error::sample(Fault::Null.words(&field.name, spec.dtype)).in_field(name));
                    }
                    (value, _) => value,
                })
            }
            _ => Err(Error::Internal { what: "a matrix without rows".to_owned() }),
        }
    }

    pub(crate) fn blame(&self, made: &MadeOf, column: u32, why: Fault, dtype: Dtype) -> Error {
        let field = match made {
            MadeOf::Column { field, .. } => *field,
            MadeOf::Matrix { columns, .. } => columns[column as usize].0,
        };
        Error::sample(why.words(&self.columns.fields[field].name, dtype))
    }
}
