//! Generates arguments for a plug-in from its parameters.

use infeed_core::Param;
use serde_json::{Map, Value as Json, json};

/// Returns a value for every required argument; the others keep their defaults.
pub(super) fn for_params(params: &[Param]) -> Map<String, Json> {
    // `std` of Normalize may only be left out where `mean` is a file.
    let wanted = |p: &&Param| p.default.is_none() || p.name == "std";
    params.iter().filter(wanted).map(|p| (p.name.to_owned(), value(p))).collect()
}

/// Known names first, since a Python type says little about which values are valid.
fn value(param: &Param) -> Json {
    match param.name {
        "mean" => json!([0.5, 0.4, 0.3]),
        "std" => json!([0.2, 0.3, 0.4]),
        "dtype" => json!("f32"),
        "size" | "target_size" | "min_size" => json!([9, 13]),
        "kernel_size" => json!(3),
        _ => match param.python {
            python if python.starts_with("int") => json!(2),
            python if python.starts_with("float") => json!(0.5),
            "bool" => json!(false),
            python if python.starts_with("Sequence[int]") => json!([1, 2]),
            "Sequence[Transform]" => json!([{"name": "RandomHorizontalFlip", "args": {}}]),
            python if python.starts_with("Sequence") => json!([0.5]),
            _ => json!("x"),
        },
    }
}
