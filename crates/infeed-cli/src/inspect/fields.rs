//! The contents of the fields, from a sample of rows.

use crate::{
    content::{Content, size},
    fault::Fault,
    interrupt,
};
use infeed_core::{FieldKind, FieldSpec, Record, Source};
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, sync::Arc};

/// Rows that are read together.
const TOGETHER: usize = 16;

/// The result of a survey.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Rows that were sampled.
    pub(super) rows: u64,
    /// Rows that could not be read, and why the first could not.
    pub(super) unreadable: u64,
    pub(super) error: Option<String>,
    pub(super) fields: Vec<Field>,
}

/// The result of a survey for one field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Arc<str>,
    stored: String,
    /// Whether it is stored as bytes: columns of tables are values already, and need no decoder.
    encoded: bool,
    /// Rows that have it.
    pub(super) present: u64,
    /// Kinds of content and their counts.
    kinds: BTreeMap<&'static str, u64>,
    decoders: BTreeMap<Option<&'static str>, u64>,
    least: u64,
    most: u64,
    sum: u64,
    /// Smallest and largest width and height.
    images: Option<[(u32, u32); 2]>,
}

/// Samples `count` rows, spread evenly.
pub(super) fn survey(source: &dyn Source, count: u64) -> Result<Survey, Fault> {
    let spec = source.spec();
    let names: Vec<Arc<str>> = spec.fields.iter().map(|(name, _)| Arc::clone(name)).collect();
    let fields = spec.fields.iter().map(|(name, spec)| Field::new(name, spec)).collect();
    let mut survey = Survey { fields, ..Survey::default() };
    let (rows, count) = (source.rows(), count.min(source.rows()));
    // In 128 bits: a row number times a count may not fit into 64.
    let sample: Vec<u64> =
        (0..count).map(|n| (u128::from(n) * u128::from(rows) / u128::from(count)) as u64).collect();
    for together in sample.chunks(TOGETHER) {
        interrupt::check()?;
        match source.fetch(together, &names) {
            Ok(records) => records.iter().for_each(|record| survey.add(record)),
            // One bad row fails the whole read: read them one by one to find it.
            Err(_) => {
                for row in together {
                    match source.fetch(&[*row], &names) {
                        Ok(records) => records.iter().for_each(|record| survey.add(record)),
                        Err(error) => survey.miss(error.to_string()),
                    }
                }
            }
        }
    }
    Ok(survey)
}

impl Survey {
    fn add(&mut self, record: &Record) {
        self.rows += 1;
        for (field, value) in self.fields.iter_mut().zip(&record.fields) {
            field.add(&Content::of(value), size(value));
        }
    }

    fn miss(&mut self, error: String) {
        self.unreadable += 1;
        self.error.get_or_insert(error);
    }
}

impl Field {
    fn new(name: &Arc<str>, spec: &FieldSpec) -> Self {
        Field {
            name: Arc::clone(name),
            stored: spec.to_string(),
            encoded: spec.kind == FieldKind::Encoded,
            present: 0,
            kinds: BTreeMap::new(),
            decoders: BTreeMap::new(),
            least: u64::MAX,
            most: 0,
            sum: 0,
            images: None,
        }
    }

    fn add(&mut self, content: &Content, size: u64) {
        if *content == Content::Missing {
            return;
        }
        self.present += 1;
        *self.kinds.entry(content.kind()).or_default() += 1;
        *self.decoders.entry(content.decoder()).or_default() += 1;
        (self.least, self.most, self.sum) = (self.least.min(size), self.most.max(size), self.sum + size);
        if let Content::Image { width, height, .. } = content {
            let [small, large] = self.images.get_or_insert([(*width, *height); 2]);
            *small = (small.0.min(*width), small.1.min(*height));
            *large = (large.0.max(*width), large.1.max(*height));
        }
    }

    /// Smallest, mean and largest size.
    pub(super) fn bytes(&self) -> (u64, u64, u64) {
        match self.present {
            0 => (0, 0, 0),
            n => (self.least, self.sum / n, self.most),
        }
    }

    /// The kinds of content; with numbers when there are several.
    pub(super) fn holds(&self) -> String {
        match self.kinds.len() {
            0 => "nothing".to_owned(),
            1 => self.kinds.keys().copied().collect(),
            _ => {
                let mut kinds: Vec<_> = self.kinds.iter().collect();
                kinds.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
                kinds.iter().map(|(kind, n)| format!("{kind} {n}")).collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// The range of image sizes.
    pub(super) fn images(&self) -> String {
        match self.images {
            None => String::new(),
            Some([small, large]) if small == large => format!("{}x{}", small.0, small.1),
            Some([small, large]) => format!("{}x{} to {}x{}", small.0, small.1, large.0, large.1),
        }
    }

    /// The decoder that suits most values, if there is one. A field of numbers with a word among them is text.
    pub(super) fn decoder(&self) -> Option<&'static str> {
        if !self.encoded {
            return None;
        }
        let numbers = |d: &Option<&str>| matches!(d, Some("int" | "float" | "text" | "json"));
        if self.decoders.len() > 1 && self.decoders.keys().all(numbers) {
            let float = self.decoders.keys().all(|d| matches!(d, Some("int" | "float")));
            return Some(if float { "float" } else { "text" });
        }
        self.decoders.iter().max_by_key(|(_, n)| **n).and_then(|(decoder, _)| *decoder)
    }

    pub(super) fn json(&self) -> Json {
        let (min, mean, max) = self.bytes();
        json!({
            "name": &*self.name,
            "stored": self.stored,
            "present": self.present,
            "kinds": self.kinds,
            "bytes": {"min": min, "mean": mean, "max": max},
            "images": self.images.map(|[small, large]| json!({
                "width": [small.0, large.0], "height": [small.1, large.1],
            })),
        })
    }
}
