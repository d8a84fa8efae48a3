//! Friends: trees whose entries belong together, as one table with the columns of all of them.

use crate::{
    bytes::FileBytes,
    cells::{Cells, Memory},
    error::{Error, Result},
    table::{Cuts, Field, Pieces, Refused, Table},
};
use std::{collections::HashSet, ops::Range, sync::Arc};

/// The columns of several tables of a file.
#[derive(Debug)]
struct Joined {
    tables: Vec<Table>,
    /// The table of each column, and its number there.
    columns: Vec<(usize, usize)>,
}

/// Joins tables by the numbers of their entries. A field of a friend that has the name of another field gets that of its table before it.
pub(crate) fn join(main: Table, friends: Vec<Table>) -> Result<Table> {
    if friends.is_empty() {
        return Ok(main);
    }
    let entries = main.entries;
    if let Some(other) = friends.iter().find(|friend| friend.entries != entries) {
        return Err(Error::Request(format!(
            "`{}` has {entries} entries and its friend `{}` has {}; friends must have as many",
            main.path, other.path, other.entries
        )));
    }
    let names: Vec<&str> = friends.iter().map(|friend| friend.path.as_str()).collect();
    let path = format!("{} with {}", main.path, names.join(", "));
    let mut tables = vec![main];
    tables.extend(friends);
    let mut seen: HashSet<Arc<str>> = HashSet::new();
    let (mut fields, mut refused, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (number, table) in tables.iter_mut().enumerate() {
        let own = table.path.rsplit('/').next().unwrap_or_default().to_owned();
        for (column, field) in table.fields.iter().enumerate() {
            let mut name = Arc::clone(&field.name);
            if !seen.insert(Arc::clone(&name)) {
                name = format!("{own}.{name}").into();
                if !seen.insert(Arc::clone(&name)) {
                    return Err(Error::Request(format!("there are two fields `{name}` in {path}")));
                }
            }
            fields.push(Field { name, spec: field.spec.clone() });
            columns.push((number, column));
        }
        let named = |one: Refused| match number {
            0 => one,
            _ => Refused { name: format!("{own}.{}", one.name), ..one },
        };
        refused.extend(std::mem::take(&mut table.refused).into_iter().map(named));
    }
    Ok(Table { path, entries, fields, refused, pieces: Box::new(Joined { tables, columns }) })
}

impl Joined {
    /// The columns of each table.
    fn by_table(&self, columns: &[usize]) -> Vec<(&Table, Vec<usize>)> {
        let own = |number: usize| {
            let all = columns.iter().map(|column| self.columns[*column]);
            all.filter(|(table, _)| *table == number).map(|(_, column)| column).collect::<Vec<_>>()
        };
        let tables = self.tables.iter().enumerate().map(|(number, table)| (table, own(number)));
        tables.filter(|(_, own)| !own.is_empty()).collect()
    }
}

impl Pieces for Joined {
    fn ranges(&self, columns: &[usize], rows: &Range<u64>) -> Vec<Range<u64>> {
        self.by_table(columns).iter().flat_map(|(table, own)| table.pieces.ranges(own, rows)).collect()
    }

    fn cells(
        &self,
        file: &dyn FileBytes,
        column: usize,
        rows: &Range<u64>,
        memory: &mut Memory<'_>,
    ) -> Result<Cells> {
        let (table, column) = self.columns[column];
        let table = &self.tables[table];
        let place = |error: Error| error.inside(&format!("tree `{}`", table.path));
        table.pieces.cells(file, column, rows, memory).map_err(place)
    }

    fn entry_bytes(&self, column: usize) -> u64 {
        let (table, column) = self.columns[column];
        self.tables[table].pieces.entry_bytes(column)
    }

    /// Where all tables may be cut. If one of them can be cut anywhere, the others say where.
    fn cuts(&self, columns: &[usize]) -> Cuts {
        let mut found: Option<Cuts> = None;
        for (table, own) in self.by_table(columns) {
            let Cuts { common, fine } = table.pieces.cuts(&own);
            found = Some(match found {
                None => Cuts { common, fine },
                Some(mut before) => {
                    before.common.retain(|place| common.binary_search(place).is_ok());
                    let fine = match (before.fine, fine) {
                        (Some(a), Some(b)) => Some(if a.len() < b.len() { b } else { a }),
                        (a, b) => a.or(b),
                    };
                    Cuts { common: before.common, fine }
                }
            });
        }
        found.unwrap_or(Cuts { common: Vec::new(), fine: Some(Vec::new()) })
    }

    fn check(&self, column: usize, size: u64) -> Result<()> {
        let (table, column) = self.columns[column];
        self.tables[table].pieces.check(column, size)
    }
}
