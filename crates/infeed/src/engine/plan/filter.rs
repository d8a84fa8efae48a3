//! `filter`: on facts known before a row is read, or on the sample after decoding.

use super::{
    branch::Branch,
    columns::{KNOWN, Known},
    draft::Draft,
    leaves::Leaves,
};
use crate::order::{
    Pick,
    filter::{Bound, Expr, Scalar},
};
use infeed_core::{Error, FieldKind, Order, Result};
use std::sync::Arc;

/// Where a sample filter gets the value of one of its names.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FilterInput {
    /// A fact known of the row.
    Known(&'static str),
    /// A field after decoding and this many transforms; for JSON and images, a part of it.
    Field {
        /// Its name.
        name: Arc<str>,
        /// Its index among the fields; set when the plan is settled.
        column: usize,
        /// Transforms before the filter.
        transforms: usize,
        /// The path inside it.
        part: Option<String>,
    },
}

/// A condition on samples.
#[derive(Debug, Clone)]
pub(crate) struct SampleFilter {
    pub(crate) text: String,
    pub(crate) bound: Bound,
    pub(crate) facts: Vec<FilterInput>,
}

impl SampleFilter {
    /// Returns the fields it reads.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().filter_map(|f| match f {
            FilterInput::Field { name, .. } => Some(&**name),
            FilterInput::Known(_) => None,
        })
    }
}

/// Adds a filter to the draft: to the order if no row has to be read for it.
pub(super) fn take(draft: &mut Draft, text: &str, leaves: &Leaves) -> Result<()> {
    let expr = Expr::parse(text)?;
    let names = expr.names();
    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
    let bound = expr.bind(&refs)?;
    if draft.stream.is_none()
        && let Some(known) = Known::open(&refs, draft, leaves)?
    {
        draft.order = before_reading(&draft.order, text, &bound, &known)?;
        return Ok(());
    }
    for branch in &mut draft.branches {
        let facts = refs.iter().map(|name| fact(branch, name)).collect::<Result<Vec<_>>>()?;
        if draft.stream.is_some()
            && let Some(FilterInput::Known(name)) =
                facts.iter().find(|f| matches!(f, FilterInput::Known(k) if *k != "row"))
        {
            let what =
                format!("`{name}` of a row is not known in a stream: compare decoded fields, or `row`");
            return Err(Error::plan("filter", what));
        }
        branch.filters.push(SampleFilter { text: text.to_owned(), bound: bound.clone(), facts });
    }
    Ok(())
}

fn fact(branch: &Branch, name: &str) -> Result<FilterInput> {
    if branch.spec.position(name).is_none()
        && let Some(known) = KNOWN.iter().find(|k| k.names.contains(&name))
    {
        return Ok(FilterInput::Known(known.names[0]));
    }
    let (field, part) = match branch.spec.position(name) {
        Some(_) => (name, None),
        None => name.split_once('.').map_or((name, None), |(field, part)| (field, Some(part.to_owned()))),
    };
    let column = branch.require(field, "filter").map_err(|e| match e {
        Error::Plan { stage, what } => {
            let known: Vec<&str> = KNOWN.iter().map(|k| k.names[0]).collect();
            Error::plan(stage, format!("{what}; of every row there are also {}", known.join(", ")))
        }
        other => other,
    })?;
    let spec = &branch.spec.fields[column].1;
    let fits = match (&spec.kind, &part) {
        (FieldKind::Array, None) => spec.shape.is_empty(),
        (FieldKind::Text, None) | (FieldKind::Json, _) => true,
        (FieldKind::Image(_), Some(part)) => matches!(part.as_str(), "width" | "height"),
        _ => false,
    };
    if !fits {
        return Err(Error::plan(
            "filter",
            format!(
                "cannot compare `{name}`, which is {spec}: decode it to a number, text or json first (parts of json are \
                 written `{field}.name`, the size of an image `{field}.width` and `{field}.height`)"
            ),
        ));
    }
    let transforms = branch.chains[column].transforms.len();
    Ok(FilterInput::Field { name: Arc::clone(&branch.spec.fields[column].0), column, transforms, part })
}

/// Keeps the places whose rows meet the condition. Scans all of them once.
fn before_reading(
    below: &Arc<dyn Order>,
    text: &str,
    bound: &Bound,
    known: &Known,
) -> Result<Arc<dyn Order>> {
    if !below.is_fixed() {
        return Err(Error::plan(
            "filter",
            "stands after a shuffle: put filters on what is known of a row before it, they are applied once",
        ));
    }
    let mut kept = vec![];
    let mut rows = Vec::with_capacity(4096);
    let mut scalars: Vec<Scalar> = vec![];
    let places = below.places();
    for start in (0..places).step_by(4096) {
        rows.clear();
        rows.extend(start..(start + 4096).min(places));
        below.resolve(0, &mut rows);
        for (i, row) in rows.iter().enumerate() {
            known.scalars(*row, &mut scalars);
            if bound.eval(&scalars).map_err(|e| restage(e, text))? {
                kept.push(start + i as u64);
            }
        }
    }
    if kept.is_empty() {
        return Err(Error::plan("filter", format!("`{text}` keeps none of the {places} rows")));
    }
    Ok(Arc::new(Pick::new(Arc::clone(below), kept)?))
}

fn restage(error: Error, text: &str) -> Error {
    Error::plan("filter", format!("`{text}`: {error}"))
}
