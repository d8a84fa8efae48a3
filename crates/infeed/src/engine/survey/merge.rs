//! Merging what workers found in single arrays.

use crate::{
    batch::Column,
    transform::{HEAD, Tally},
};
use infeed_core::{Error, Result, memory};
use serde_json::{Map, Value as Json, json};

/// The percentiles that are given.
const PERCENTILES: [(&str, f64); 9] = [
    ("0.1", 0.001),
    ("1", 0.01),
    ("5", 0.05),
    ("25", 0.25),
    ("50", 0.5),
    ("75", 0.75),
    ("95", 0.95),
    ("99", 0.99),
    ("99.9", 0.999),
];
/// Values of one field that are kept. Of more, those of some rows are.
const KEPT: u64 = 8 << 20;

/// What is known of a channel.
#[derive(Debug, Clone)]
struct Channel {
    tally: Tally,
    nan: f64,
    infinite: f64,
    /// Values, and how many each of them stands for.
    values: Vec<(f64, f64)>,
}

/// What is known of a field.
#[derive(Debug)]
pub(super) struct Merged {
    channels: Vec<Channel>,
    /// All rows, and those that were seen.
    rows: u64,
    seen: u64,
    /// Whether all values are there.
    whole: bool,
}

impl Merged {
    pub(super) fn new(channels: u64, rows: u64) -> Self {
        let none = Channel { tally: Tally::NONE, nan: 0.0, infinite: 0.0, values: vec![] };
        Merged { channels: vec![none; channels as usize], rows, seen: 0, whole: true }
    }

    /// Adds the rows of a batch.
    pub(super) fn add(&mut self, column: &Column) -> Result<()> {
        let wrong =
            || Error::Internal { what: "stats of a batch have another shape than was planned".to_owned() };
        let (Some(bytes), Column::Array { shape, .. }) = (column.bytes(), column) else {
            return Err(wrong());
        };
        let [_, channels, width] = shape[..] else { return Err(wrong()) };
        if channels != self.channels.len() || width < HEAD {
            return Err(wrong());
        }
        let numbers = bytes.as_chunks::<8>().0;
        let each_row = (channels * (width - HEAD)) as u64;
        let step = self.rows.saturating_mul(each_row).div_ceil(KEPT).max(1);
        for row in numbers.chunks_exact((channels * width).max(1)) {
            let keep = self.seen.is_multiple_of(step);
            for (channel, raw) in self.channels.iter_mut().zip(row.chunks_exact(width)) {
                let at = |i: usize| f64::from_ne_bytes(raw[i]);
                let count = at(0);
                channel.tally =
                    channel.tally.with(Tally { count, mean: at(3), squares: at(4), low: at(5), high: at(6) });
                channel.nan += at(1);
                channel.infinite += at(2);
                let (elements, drawn) = (count + at(1) + at(2), (width - HEAD) as f64);
                let weight = if elements <= drawn { 1.0 } else { elements / drawn };
                self.whole &= keep && elements <= drawn;
                if keep {
                    memory::reserve(&mut channel.values, width - HEAD)?;
                    let values = raw[HEAD..].iter().map(|b| f64::from_ne_bytes(*b));
                    channel.values.extend(values.filter(|x| x.is_finite()).map(|x| (x, weight)));
                }
            }
            self.seen += 1;
        }
        Ok(())
    }

    /// The numbers of the field, and of its channels if there are any.
    pub(super) fn finish(mut self) -> Map<String, Json> {
        let from = if self.whole {
            "all values".to_owned()
        } else {
            format!("{} values drawn at random", self.channels.iter().map(|c| c.values.len()).sum::<usize>())
        };
        let each: Vec<Map<String, Json>> = self.channels.iter_mut().map(Channel::finish).collect();
        let mut all = Channel { tally: Tally::NONE, nan: 0.0, infinite: 0.0, values: vec![] };
        for channel in self.channels {
            all.tally = all.tally.with(channel.tally);
            all.nan += channel.nan;
            all.infinite += channel.infinite;
            all.values.extend(channel.values);
        }
        let mut out = all.finish();
        out.insert("percentiles_from".to_owned(), json!(from));
        let mut channels = Map::new();
        for name in ["count", "nan", "infinite", "mean", "std", "min", "max"] {
            channels.insert(name.to_owned(), each.iter().map(|c| c[name].clone()).collect());
        }
        let listed = |name: &str| -> Json { each.iter().map(|c| c["percentiles"][name].clone()).collect() };
        let percentiles: Map<String, Json> =
            PERCENTILES.iter().map(|(name, _)| ((*name).to_owned(), listed(name))).collect();
        channels.insert("percentiles".to_owned(), Json::Object(percentiles));
        out.insert("channels".to_owned(), Json::Object(channels));
        out
    }
}

impl Channel {
    fn finish(&mut self) -> Map<String, Json> {
        let Tally { count, mean, squares, low, high } = self.tally;
        let some = |x: f64| if count > 0.0 { json!(x) } else { Json::Null };
        self.values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let percentiles: Map<String, Json> = PERCENTILES
            .iter()
            .map(|(name, p)| ((*name).to_owned(), json!(percentile(&self.values, *p))))
            .collect();
        let out = json!({
            "count": count as u64, "nan": self.nan as u64, "infinite": self.infinite as u64, "mean": some(mean),
            "std": some((squares / count).sqrt()), "min": some(low), "max": some(high), "percentiles": percentiles,
        });
        if let Json::Object(out) = out { out } else { Map::new() }
    }
}

/// The value below which a share of sorted values lies: between two of them as NumPy does it, if all of them stand for equally
/// many.
fn percentile(values: &[(f64, f64)], share: f64) -> Option<f64> {
    let (first, last) = (values.first()?, values.last()?);
    if values.iter().all(|(_, weight)| *weight == first.1) {
        let place = share * (values.len() - 1) as f64;
        let (low, high) = (values[place.floor() as usize].0, values[place.ceil() as usize].0);
        return Some(low + (high - low) * place.fract());
    }
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    let reached = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= share * total
    });
    Some(reached.unwrap_or(last).0)
}
