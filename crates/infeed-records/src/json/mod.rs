//! JSON lines: extracts the wanted fields of a row without building the others.
//!
//! A row is walked key by key. Unwanted values are skipped: their nesting is checked, but nothing is built. A wanted
//! value is returned as a [`Raw`], a piece of the row, and [`value`] makes a field of it. Only extracted values are
//! fully validated: an invalid number inside a skipped object may go unnoticed.

mod limits;
mod marks;
mod number;
mod scan;
mod value;
mod wanted;

pub use limits::check_limits;
pub use number::{float, floats, int, ints};
pub use scan::{Fault, Raw, keys};
pub use value::{guess, value};
pub use wanted::{Wanted, extract};

/// Feeds arbitrary bytes to the scanner: it must not panic, everything it returns must lie within the row, and rows
/// that serde_json accepts as objects must parse to the same texts.
pub fn fuzz_json(data: &[u8]) {
    let Some((pick, line)) = data.split_first() else { return };
    let names = ["a", "b", "text", "meta.lang", "a.b"];
    let wanted = Wanted::new(names.iter().copied().take(usize::from(*pick) % 6));
    let mut out = vec![None; wanted.len()];
    let found = extract(line, &wanted, &mut out);
    for raw in out.iter().flatten() {
        let kind = guess(raw);
        let _ = value(raw, kind);
        for other in [crate::Guess::Text, crate::Guess::Int, crate::Guess::Floats, crate::Guess::Json] {
            let _ = value(raw, other);
        }
    }
    let mut count = 0usize;
    let walked = keys(line, |key, _| {
        count += 1;
        assert!(key.len() <= line.len());
    });
    assert!(count <= line.len());
    if let Ok(row) = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
        let deep = |e: &infeed_core::Error| e.to_string().contains("levels");
        if walked.as_ref().is_err_and(deep) {
            return;
        }
        assert!(found.is_ok() && walked.is_ok());
        for (name, raw) in names.iter().zip(out).filter(|(name, _)| !name.contains('.')) {
            if let Some(serde_json::Value::String(text)) = row.get(*name) {
                let made = raw.map(|raw| value(&raw, crate::Guess::Text));
                assert!(matches!(made, Some(Ok(infeed_core::Value::Text(made))) if made == *text));
            }
        }
    }
}

#[cfg(test)]
mod tests;
