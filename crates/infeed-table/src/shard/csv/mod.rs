//! CSV as a table: a block is some thousand rows, parsed into columns on demand.
//!
//! The file is scanned once when it is opened, to find where rows begin. A cell that does not match the type of its
//! column makes only its own row a bad sample.

mod parse;
mod sketch;

use crate::{
    open::{ShardFiles, TableFormat, args::TableArgs, open, params},
    shard::{BadRow, Blocks, bytes::ShardBytes},
};
use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema, SchemaRef};
use infeed_core::{Bytes, Can, Dtype, Error, FormatEntry, Guess, Param, Result, Sure};
use infeed_records::{
    csv::{RowFinder, bare, cells, count},
    split::{End, Split},
    text::unmarked,
};
use parse::CsvColumn;
use sketch::Sketch;
use std::sync::Arc;

/// Maximum rows and bytes per block: small enough that a shuffle mixes many of them, large enough
/// to amortise the overhead.
const ROWS: usize = 1 << 14;
const BYTES: u64 = 4 << 20;
/// Bytes scanned for rows at a time, and the longest row.
const PIECE: u64 = 1 << 20;
const LONGEST: u64 = 256 << 20;

/// The format.
pub(crate) const FORMAT: TableFormat = TableFormat {
    entry: FormatEntry {
        name: "csv_table",
        about: "comma-separated values whose rows are decoded and shuffled in blocks; infeed.table takes it for .csv",
        details: "Every file is read once when it is opened, to find its rows. Types come from the first rows of every file: \
                  int64, float64, bool or text. An empty field is a null, but for text. A field that is not what its column \
                  is makes its row a bad sample.",
        params: &[
            Param {
                name: "delimiter",
                python: "str | None",
                default: Some("null"),
                about: "what separates fields: found out among comma, tab, semicolon and bar",
            },
            Param {
                name: "header",
                python: "bool",
                default: Some("true"),
                about: "whether the first row has the titles",
            },
            Param {
                name: "names",
                python: "Sequence[str] | None",
                default: Some("null"),
                about: "names of the columns, in place of the titles",
            },
            Param {
                name: "types",
                python: "Mapping[str, str] | None",
                default: Some("null"),
                about: "types of some columns: `text`, `bool`, `int64`, `float32`, ...",
            },
            params::COLUMNS,
            params::WHERE,
            params::NULLS,
            params::FILL,
            params::READ,
            params::MATRIX,
        ],
        endings: &[".csv", ".tsv"],
        magic: &[],
        can: Can { blocks: true, ..Can::ROWS },
        // Such files belong to the format that reads them row by row, unless a table is requested.
        recognise: Some(|file| FORMAT.entry.has_ending(file.name).then(|| Guess::new(Sure::Barely))),
        recognise_folder: Some(|look| {
            let count = look.files.iter().filter(|name| FORMAT.entry.has_ending(name)).count();
            Ok((count > 0).then_some(Guess { sure: Sure::Barely, count }))
        }),
        open,
    },
    shards,
    data_sets: false,
};

/// The type of a column; `None` is text.
type CsvType = Option<Dtype>;

/// Opens files with common column types, which are inferred from the first rows of all files.
fn shards(files: &ShardFiles<'_>) -> Result<Vec<Arc<dyn Blocks>>> {
    let sketches = files.map(|_, bytes| Sketch::new(&bytes, files.args))?;
    let types = sketch::types(&sketches, files.args)?;
    files.map(|place, bytes| {
        let shard = CsvShard::open(bytes, &sketches[place], &types, files.args)?;
        Ok(Arc::new(shard) as Arc<dyn Blocks>)
    })
}

/// A run of consecutive rows.
#[derive(Debug, Clone, Copy)]
struct LinesPlace {
    start: u64,
    len: u64,
    /// The line of its first row, counted from 1.
    line: u64,
}

/// One file.
#[derive(Debug)]
struct CsvShard {
    input: ShardBytes,
    delimiter: u8,
    schema: SchemaRef,
    types: Vec<CsvType>,
    rows: Vec<u64>,
    places: Vec<LinesPlace>,
}

impl CsvShard {
    fn open(
        input: ShardBytes,
        sketch: &Sketch,
        types: &[(Arc<str>, CsvType)],
        args: &TableArgs,
    ) -> Result<Self> {
        let find = |name: &Arc<str>| types.iter().find(|(known, _)| known == name).and_then(|(_, of)| *of);
        let types: Vec<CsvType> = sketch.names.iter().map(find).collect();
        let field = |(name, of): (&Arc<str>, &CsvType)| Field::new(&**name, parse::arrow_type(*of), true);
        let fields: Vec<Field> = sketch.names.iter().zip(&types).map(field).collect();
        let mut shard = CsvShard {
            input,
            delimiter: sketch.delimiter,
            schema: Arc::new(Schema::new(fields)),
            types,
            rows: vec![],
            places: vec![],
        };
        shard.index(args.csv.titled)?;
        Ok(shard)
    }

    /// Finds the blocks.
    fn index(&mut self, mut titled: bool) -> Result<()> {
        let mut split = RowFinder::new(self.delimiter);
        let (mut at, mut size, mut line) = (0, PIECE, 1);
        let mut block = LinesPlace { start: 0, len: 0, line: 1 };
        let (mut rows, mut ends) = (0, vec![]);
        while at < self.input.len {
            let len = size.min(self.input.len - at);
            let bytes = self.input.get(at, len)?;
            ends.clear();
            let found = split.split(&bytes, at + len == self.input.len, &mut ends);
            found.map_err(|e| self.input.damaged(at, said(e)))?;
            if ends.is_empty() {
                if at + len == self.input.len {
                    break;
                }
                if size >= LONGEST {
                    let what = format!(
                        "the row in line {line} has more than {LONGEST} bytes: is a quote not closed?"
                    );
                    return Err(self.input.damaged(at, what));
                }
                size *= 2;
                continue;
            }
            size = PIECE;
            for end in &ends {
                line += u64::from(end.lines);
                if std::mem::take(&mut titled) {
                    block = LinesPlace { start: at + end.at as u64, len: 0, line };
                    continue;
                }
                rows += 1;
                block.len = at + end.at as u64 - block.start;
                if rows == ROWS || block.len >= BYTES {
                    self.rows.push(rows as u64);
                    self.places.push(block);
                    block = LinesPlace { start: block.start + block.len, len: 0, line };
                    rows = 0;
                }
            }
            at += ends.last().map_or(0, |end| end.at as u64);
        }
        if rows > 0 {
            self.rows.push(rows as u64);
            self.places.push(block);
        }
        Ok(())
    }

    /// Returns the rows of a block.
    fn lines(&self, block: usize) -> Result<(Bytes, Vec<End>)> {
        let place = self.places[block];
        let bytes = self.input.get(place.start, place.len)?;
        let mut ends = Vec::with_capacity(self.rows[block] as usize);
        RowFinder::new(self.delimiter).split(&bytes, true, &mut ends)?;
        Ok((bytes, ends))
    }
}

/// Returns the message of an error, without a location.
fn said(error: Error) -> String {
    match error {
        Error::Sample { what, .. } => what,
        other => other.to_string(),
    }
}

impl Blocks for CsvShard {
    fn name(&self) -> &str {
        &self.input.name
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn block_rows(&self) -> &[u64] {
        &self.rows
    }

    fn noun(&self) -> &'static str {
        "block"
    }

    fn read(&self, block: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let (arrays, bad) = self.read_sound(block, columns)?;
        bad.into_iter().next().map_or(Ok(arrays), |(_, what)| Err(Error::sample(what)))
    }

    fn read_sound(&self, block: usize, columns: &[usize]) -> Result<(Vec<ArrayRef>, Vec<BadRow>)> {
        let (bytes, ends) = self.lines(block)?;
        let mut out: Vec<CsvColumn> =
            columns.iter().map(|column| CsvColumn::new(self.types[*column], ends.len())).collect();
        let (mut start, mut line, mut bad, mut found) = (0, self.places[block].line, vec![], vec![]);
        for (row, end) in ends.iter().enumerate() {
            let whole = &bytes[start..end.at];
            // The first row of a file may start with a UTF-8 byte order mark.
            let first = self.places[block].start == 0 && row == 0;
            let cut = bare(if first { unmarked(whole) } else { whole });
            let made = cells(cut, self.delimiter, &mut found)
                .and_then(|()| count(found.len(), self.types.len()))
                .map_err(said)
                .and_then(|()| {
                    for (column, out) in columns.iter().zip(&mut out) {
                        out.put(row, &found[*column].bytes(cut)).map_err(|e| {
                            let name = self.schema.field(*column).name();
                            format!(
                                "column `{name}`: {}; types={{\"{name}\": ...}} makes it another type",
                                said(e)
                            )
                        })?;
                    }
                    Ok(())
                });
            if let Err(what) = made {
                // Cells already added for the row are kept but ignored.
                out.iter_mut().for_each(|column| column.lose(row));
                bad.push((row as u32, format!("line {}: {what}", line + u64::from(end.lines) - 1)));
            }
            (start, line) = (end.at, line + u64::from(end.lines));
        }
        Ok((out.into_iter().map(CsvColumn::finish).collect(), bad))
    }

    fn column_bytes(&self, _column: usize) -> u64 {
        self.input.len / self.types.len().max(1) as u64
    }
}
