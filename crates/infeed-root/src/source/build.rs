//! Checks that files go together, and settles fields, rows and blocks.

use super::{Part, RootSource, TreeFile};
use crate::{
    open::choose,
    table::{Cuts, Table},
};
use infeed_core::{Error, Result, Spec, Stamp, Store, Sums, blocks::BlockCache};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// Unpacked bytes that a block should have at least, so that small baskets are read together.
const SMALL: u64 = 1 << 20;
/// Blocks from this size on are cut where any branch begins a basket, although others are then unpacked twice.
const LARGE: u64 = 64 << 20;
/// Entries of one block.
const MOST_ROWS: u64 = 1 << 31;
/// Blocks of one file: those of tens of terabytes.
const MOST_BLOCKS: u64 = 1 << 22;
/// Bytes of blocks that a shuffle may have open at a time.
const MIXED: u64 = 256 << 20;

impl RootSource {
    /// Makes a source of files, with these branches or with all.
    pub(crate) fn build(
        store: Arc<dyn Store>,
        files: Vec<TreeFile>,
        wanted: Option<&[String]>,
    ) -> Result<Self> {
        let Some(first) = files.first() else { return Err(Error::argument("there are no files")) };
        let name = |file: &TreeFile| file.bytes.shard.name.to_string();
        let (chosen, left) = choose(&first.tree, wanted).map_err(|e| e.of_file(&name(first)))?;
        let columns = |at: &usize| &first.tree.fields[*at];
        let names: Vec<String> = chosen.iter().map(|at| columns(at).name.to_string()).collect();
        let fields =
            chosen.iter().map(|at| (Arc::clone(&columns(at).name), columns(at).spec.clone())).collect();
        let spec = Spec { fields };
        let mut parts: Vec<Part> = Vec::with_capacity(files.len());
        let first = name(first);
        for file in files {
            let place = name(&file);
            let columns = match parts.is_empty() {
                true => chosen.clone(),
                false => agree(&file.tree, &place, (&spec, &names), (&first, wanted.is_none()))?,
            };
            check(&file, &columns)?;
            let stamp = Stamp::of(&file.bytes.shard);
            parts.push(Part { bytes: file.bytes, tree: file.tree, columns, stamp });
        }
        let mut rows = Sums::with_capacity(parts.len());
        let (mut blocks, mut starts, mut mixed) = (Sums::with_capacity(parts.len()), Vec::new(), None);
        for (number, part) in parts.iter().enumerate() {
            rows.push(part.tree.entries);
            for block in cut(&part.tree, &part.columns)? {
                let most = (MIXED / bytes_of(&part.tree, &part.columns, &block).max(1)).max(2);
                mixed = Some(mixed.map_or(most, |before: u64| before.min(most)));
                blocks.push(block.end - block.start);
                starts.push((number, block.start));
            }
        }
        if rows.total() == 0 {
            return Err(Error::argument(format!("there are no entries in the tree of `{first}`")));
        }
        if blocks.lens().iter().any(|rows| *rows > MOST_ROWS) {
            let what =
                format!("`{first}`: more than {MOST_ROWS} entries in one basket; write smaller baskets");
            return Err(Error::argument(what));
        }
        let weights = (0..names.len()).map(|field| weight(&parts, field, rows.total())).collect();
        let notes = match left.is_empty() {
            true => String::new(),
            false => format!("; left out: {}", left.join(", ")),
        };
        Ok(RootSource {
            store,
            parts,
            spec,
            rows,
            blocks,
            starts,
            mixed,
            weights,
            sets: Mutex::default(),
            cache: BlockCache::default(),
            announced: Mutex::default(),
            notes,
        })
    }
}

/// The columns of another file, which must be those of the first one.
fn agree(
    tree: &Table,
    place: &str,
    (spec, names): (&Spec, &[String]),
    (first, all): (&str, bool),
) -> Result<Vec<usize>> {
    let (columns, _) = choose(tree, Some(names)).map_err(|error| match error {
        crate::Error::Request(what) => Error::argument(format!(
            "`{place}`: {what}; `{first}` has it, and files that are read together must agree"
        )),
        other => other.of_file(place),
    })?;
    for (at, (name, own)) in columns.iter().zip(&spec.fields) {
        let found = &tree.fields[*at].spec;
        if found != own {
            return Err(Error::argument(format!(
                "`{place}`: `{name}` is {found}, and in `{first}` it is {own}; files that are read together must agree"
            )));
        }
    }
    if all && let Some(more) = tree.names().find(|name| !names.iter().any(|own| own == name)) {
        return Err(Error::argument(format!(
            "`{place}` has the branch `{more}`, which `{first}` does not have; say which to read with branches="
        )));
    }
    Ok(columns)
}

/// Checks that all pieces lie in the file.
fn check(file: &TreeFile, columns: &[usize]) -> Result<()> {
    let shard = &file.bytes.shard;
    let one = |column: &usize| file.tree.pieces.check(*column, shard.size);
    columns.iter().try_for_each(one).map_err(|error| error.of_file(&shard.name))
}

/// About how many bytes some entries of columns have.
fn bytes_of(tree: &Table, columns: &[usize], rows: &Range<u64>) -> u64 {
    let one = |column: &usize| tree.pieces.entry_bytes(*column).saturating_mul(rows.end - rows.start);
    columns.iter().map(one).fold(0, u64::saturating_add)
}

fn weight(parts: &[Part], field: usize, rows: u64) -> u64 {
    let one = |part: &Part| {
        u128::from(part.tree.pieces.entry_bytes(part.columns[field])) * u128::from(part.tree.entries)
    };
    let all: u128 = parts.iter().map(one).sum();
    all.checked_div(u128::from(rows)).unwrap_or(0) as u64
}

/// Cuts the entries of a tree into blocks: between entries where all of these columns begin a piece. Small ones are
/// joined, and large ones are cut where the column with the most pieces begins one.
fn cut(tree: &Table, columns: &[usize]) -> Result<Vec<Range<u64>>> {
    let Cuts { common, fine } = tree.pieces.cuts(columns);
    let row = bytes_of(tree, columns, &(0..1)).max(1);
    let mut out = Vec::new();
    let mut begin = 0;
    for end in common {
        let size = bytes_of(tree, columns, &(begin..end));
        if end <= begin || (size < SMALL && end < tree.entries) {
            continue;
        }
        if size >= LARGE {
            let step = (LARGE / 4).div_ceil(row);
            if (end - begin) / step + out.len() as u64 > MOST_BLOCKS {
                let what = format!("{} entries in a column of one file, which cannot be", tree.entries);
                return Err(Error::argument(what));
            }
            match &fine {
                Some(fine) => {
                    let inner = fine.partition_point(|place| *place <= begin);
                    for place in fine[inner..].iter().copied().take_while(|place| *place < end) {
                        if place - begin >= step {
                            out.push(begin..place);
                            begin = place;
                        }
                    }
                }
                None => {
                    while end - begin > step {
                        out.push(begin..begin + step);
                        begin += step;
                    }
                }
            }
        }
        out.push(begin..end);
        begin = end;
    }
    Ok(out)
}
