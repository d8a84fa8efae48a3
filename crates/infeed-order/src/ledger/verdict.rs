//! The result of a verification, as data and as text.

use serde::Serialize;
use std::{fmt, ops::Range};

/// How many rows and ranges the text shows; the fields hold more.
const SHOWN: usize = 10;

/// Places that are not as promised.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Places {
    /// How many.
    pub count: u64,
    /// Where they are: the first 10,000 ranges.
    pub ranges: Vec<Range<u64>>,
    /// The rows at these places: the first 1,000.
    pub rows: Vec<u64>,
}

/// Identifies a segment: its ledger, its rank and its places.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Giver {
    /// The ledger's name.
    pub ledger: String,
    /// Rank.
    pub rank: u64,
    /// Number of ranks.
    pub size: u64,
    /// The steps of the segment, over all ranks.
    pub places: Range<u64>,
}

/// Places that were delivered more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Double {
    /// Which.
    pub places: Range<u64>,
    /// How often.
    pub times: u64,
    /// The segments that delivered them: the first 16.
    pub by: Vec<Giver>,
}

/// Ranks of a world that delivered nothing where others of it did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The ranks.
    pub ranks: Range<u64>,
    /// Number of ranks.
    pub size: u64,
    /// The steps, over all ranks.
    pub places: Range<u64>,
}

/// A segment whose rows are not those that the order puts there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The segment.
    pub by: Giver,
    /// What is wrong.
    pub what: String,
    /// Rows that were delivered but not promised, if rows are stored: the first 1,000.
    pub given: Vec<u64>,
    /// Rows that were promised but not delivered, if rows are stored: the first 1,000.
    pub lacking: Vec<u64>,
}

/// The result of verifying an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Epoch.
    pub epoch: u64,
    /// Number of promised places.
    pub places: u64,
    /// Number of places dropped at the end, as configured.
    pub dropped: u64,
    /// Number of promised rows that were delivered.
    pub rows: u64,
    /// Number of repeats delivered as padding.
    pub pads: u64,
    /// Number of rows delivered in place of bad ones.
    pub stand_ins: u64,
    /// Number of rows left out because they could not be made.
    pub bad: u64,
    /// Number of rows left out by a filter.
    pub filtered: u64,
    /// The world sizes, in epoch order.
    pub worlds: Vec<u64>,
    /// How many runs the epoch took.
    pub runs: u64,
    /// Number of places whose row also occurs at another place, because the order repeats it; `None` if there are too
    /// many rows to tell cheaply.
    pub repeated: Option<u64>,
    /// Places that nobody delivered.
    pub missing: Places,
    /// Ranks whose ledgers would explain what is missing.
    pub absent: Vec<Absent>,
    /// Places that were delivered more than once.
    pub double: Places,
    /// Who delivered them: the first 100 ranges.
    pub doubles: Vec<Double>,
    /// Segments with wrong rows.
    pub wrong: Vec<Wrong>,
}

impl Verdict {
    /// Returns whether every row was delivered as promised.
    pub fn is_exact(&self) -> bool {
        self.missing.count == 0 && self.double.count == 0 && self.wrong.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeated = self.repeated.unwrap_or(0);
        let rows = count(self.rows);
        write!(f, "epoch {}: ", self.epoch)?;
        match (self.is_exact(), repeated) {
            (true, 0) => write!(f, "{rows} rows, each exactly once")?,
            (true, _) => write!(f, "{rows} rows, each exactly as often as promised")?,
            (false, _) => write!(f, "NOT EXACT: {rows} rows were given, {} promised", count(self.places))?,
        }
        let worlds: Vec<String> = self.worlds.iter().map(u64::to_string).collect();
        if !worlds.is_empty() {
            let ranks = if worlds == ["1"] { "rank" } else { "ranks" };
            let runs = if self.runs == 1 { "run" } else { "runs" };
            write!(f, ", over {} {ranks} and {} {runs}", worlds.join(" then "), count(self.runs))?;
        }
        for (n, what) in [
            (self.bad, "left out because they are bad"),
            (self.stand_ins, "given in place of bad ones"),
            (self.filtered, "left out by a filter"),
            (self.pads, "given again to fill up batches"),
            (self.dropped, "dropped at the end"),
            (repeated, "that the order has more than once"),
        ] {
            if n > 0 {
                write!(f, "; {} {what}", count(n))?;
            }
        }
        if self.missing.count > 0 {
            write!(f, "\n  missing: {}", self.missing)?;
        }
        for absent in self.absent.iter().take(SHOWN) {
            write!(f, "\n    nothing from {absent}")?;
        }
        more(f, self.absent.len())?;
        if self.double.count > 0 {
            write!(f, "\n  double: {}", self.double)?;
        }
        for double in self.doubles.iter().take(SHOWN) {
            let by: Vec<String> = double.by.iter().map(Giver::to_string).collect();
            write!(
                f,
                "\n    places {}: {} times, by {}",
                range(&double.places),
                double.times,
                by.join(", ")
            )?;
        }
        more(f, self.doubles.len())?;
        for wrong in self.wrong.iter().take(SHOWN) {
            write!(f, "\n  wrong: {wrong}")?;
        }
        more(f, self.wrong.len())
    }
}

/// Writes how many entries of a list are not shown.
fn more(f: &mut fmt::Formatter<'_>, all: usize) -> fmt::Result {
    if all > SHOWN { write!(f, "\n    and {} more", all - SHOWN) } else { Ok(()) }
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |n: u64| if n == 1 { "" } else { "s" };
        let ranges: Vec<String> = self.ranges.iter().take(SHOWN).map(range).collect();
        let more = if self.ranges.len() > SHOWN { ", ..." } else { "" };
        write!(f, "{} row{} at place{} ", count(self.count), many(self.count), many(self.count))?;
        write!(f, "{}{more}: {}", ranges.join(", "), list(&self.rows, self.count))
    }
}

impl fmt::Display for Giver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {} ({})", self.rank, self.size, self.ledger)
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks.end - self.ranks.start {
            1 => write!(f, "rank {}", self.ranks.start)?,
            _ => write!(f, "ranks {} to {}", self.ranks.start, self.ranks.end - 1)?,
        }
        write!(f, " of {} in the steps of places {}", self.size, range(&self.places))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, steps of places {}: {}", self.by, range(&self.by.places), self.what)?;
        for (rows, what) in [(&self.given, "given, not promised"), (&self.lacking, "promised, not given")] {
            if !rows.is_empty() {
                write!(f, "; {what}: {}", list(rows, rows.len() as u64))?;
            }
        }
        Ok(())
    }
}

/// `5..9`, or `5` for one place.
fn range(places: &Range<u64>) -> String {
    if places.end - places.start == 1 {
        return count(places.start);
    }
    format!("{}..{}", count(places.start), count(places.end))
}

/// `row 7`, `rows 7, 9, ...`.
fn list(rows: &[u64], all: u64) -> String {
    let shown: Vec<String> = rows.iter().take(SHOWN).map(u64::to_string).collect();
    let more = if all > shown.len() as u64 { ", ..." } else { "" };
    format!("row{} {}{more}", if all == 1 { "" } else { "s" }, shown.join(", "))
}

/// `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
