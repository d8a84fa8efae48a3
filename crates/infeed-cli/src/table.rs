//! Text tables with aligned columns.

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Rows of text under a heading.
#[derive(Debug)]
pub(crate) struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// A table with these columns; empty titles everywhere mean that there is no heading.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let titles: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
        let rows = if titles.iter().all(String::is_empty) { vec![] } else { vec![titles] };
        Table { align: columns.iter().map(|(_, align)| *align).collect(), rows, indent: 0 }
    }

    /// The same table, indented.
    #[must_use]
    pub(crate) fn indented(mut self, by: usize) -> Self {
        self.indent = by;
        self
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, each row ended by a line break.
    pub(crate) fn render(&self) -> String {
        let len = |cell: &String| cell.chars().count();
        let widths: Vec<usize> = (0..self.align.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).map(len).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for ((cell, width), align) in row.iter().zip(&widths).zip(&self.align) {
                let space = " ".repeat(width - len(cell));
                match align {
                    Align::Left => line.extend([cell, space.as_str(), "  "]),
                    Align::Right => line.extend([space.as_str(), cell, "  "]),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]).indented(1);
        table.row(["é", "10"]);
        table.row(["longer", "7"]);
        assert_eq!(table.render(), " name     n\n é       10\n longer   7\n");
    }
}
