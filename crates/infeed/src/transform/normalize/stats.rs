//! Means and deviations from what `infeed stats` wrote.

use infeed_core::{Args, Error, Result};
use serde_json::Value as Json;

/// More than any statistics take. A larger file is another one.
const MOST_BYTES: u64 = 64 << 20;

/// What is known of one field.
#[derive(Debug, PartialEq)]
pub(super) struct Numbers {
    pub(super) mean: Vec<f64>,
    pub(super) std: Vec<f64>,
    pub(super) axis: Option<i64>,
}

/// The statistics that `mean` names or is.
pub(super) fn read(args: &Args) -> Result<Option<Json>> {
    let json = match args.value("mean") {
        Some(Json::String(path)) => {
            let fail = |e| Error::io("read", path, e);
            if std::fs::metadata(path).map_err(fail)?.len() > MOST_BYTES {
                return Err(Error::argument(format!(
                    "Normalize: `{path}` is too large for a file of infeed stats"
                )));
            }
            let text = std::fs::read_to_string(path).map_err(fail)?;
            serde_json::from_str(&text).map_err(|e| {
                Error::argument(format!("Normalize: `{path}` is not what infeed stats writes: {e}"))
            })?
        }
        Some(given @ Json::Object(_)) => given.clone(),
        _ => return Ok(None),
    };
    if json.get("fields").is_some_and(Json::is_object) {
        return Ok(Some(json));
    }
    Err(Error::argument("Normalize: mean has no statistics of fields: give it what infeed stats made"))
}

/// The numbers of a field: of its channels if they were looked at, else of all its values.
pub(super) fn of_field(stats: &Json, field: &str) -> Result<Numbers> {
    let wrong = |what: String| Error::argument(format!("Normalize: the statistics {what}"));
    let fields = stats.get("fields").and_then(Json::as_object);
    let Some(found) = fields.and_then(|fields| fields.get(field)) else {
        let names: Vec<&str> = fields.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        return Err(wrong(format!("have no field `{field}`; they have {}", names.join(", "))));
    };
    let axis = found.get("axis").and_then(Json::as_i64);
    let place = if axis.is_some() { found.get("channels") } else { Some(found) };
    let numbers = |name: &str| -> Option<Vec<f64>> {
        match place?.get(name)? {
            Json::Array(list) => list.iter().map(Json::as_f64).collect(),
            one => Some(vec![one.as_f64()?]),
        }
    };
    let (Some(mean), Some(std)) = (numbers("mean"), numbers("std")) else {
        return Err(wrong(format!("of `{field}` lack a mean or std: were all of its values NaN?")));
    };
    if mean.len() != std.len() || mean.is_empty() || mean.iter().chain(&std).any(|x| !x.is_finite()) {
        return Err(wrong(format!(
            "of `{field}` are damaged: {} means and {} deviations",
            mean.len(),
            std.len()
        )));
    }
    // A channel that never varies has nothing to be divided by: it becomes zero.
    let std = std.into_iter().map(|s| if s > 0.0 { s } else { 1.0 }).collect();
    Ok(Numbers { mean, std, axis })
}
