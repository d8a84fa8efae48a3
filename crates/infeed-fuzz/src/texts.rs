//! Texts that users write, or that runs leave behind.

use infeed::{Checkpoint, Recipe, store::MemoryStore, store::braces};
use infeed_core::{Bytes, Scratch, Store, Value, registry::find};
use infeed_order::{
    filter::{Expr, Scalar},
    ledger::Ledger,
};

/// What is written of a recipe is read as the same recipe.
pub(crate) fn recipe(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for recipe in [Recipe::from_json(text), Recipe::from_toml(text)].into_iter().flatten() {
        assert_eq!(Recipe::from_json(&recipe.to_json()).map(|again| again.hash()).ok(), Some(recipe.hash()));
        let _ = recipe.to_toml().map(|toml| Recipe::from_toml(&toml));
    }
}

/// What is written of a checkpoint is read as the same.
pub(crate) fn state(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(state) = Checkpoint::from_json(text) {
        let written = state.to_json();
        assert_eq!(Checkpoint::from_json(&written).map(|again| again.to_json()).ok(), Some(written));
    }
}

/// What is written of a ledger is read as the same, and merging it with itself does no harm.
pub(crate) fn ledger(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(ledger) = Ledger::from_json(text) {
        let written = ledger.to_json();
        let Ok(mut again) = Ledger::from_json(&written) else { panic!("{written} cannot be read again") };
        assert_eq!(again.to_json(), written);
        let _ = again.merge(ledger);
    }
}

/// A filter prints as a filter that means the same.
pub(crate) fn filter(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(expression) = Expr::parse(text) else { return };
    let printed = expression.to_string();
    assert_eq!(Expr::parse(&printed).as_ref().ok(), Some(&expression), "printed as {printed}");
    let names = expression.names();
    for value in
        [Scalar::Int(3), Scalar::Float(-0.5), Scalar::None, Scalar::Bool(true), Scalar::Text("ab".into())]
    {
        let _ = expression.eval(&|_| Some(value.clone()));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if let Ok(bound) = expression.bind(&names) {
            let _ = bound.eval(&vec![value.clone(); names.len()]);
        }
    }
}

/// Path patterns against a store in memory: local folders are not looked into.
pub(crate) fn paths(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(names) = braces(text) {
        assert!(!names.is_empty());
    }
    let store: MemoryStore =
        ["a/b-0.tar", "a/b-1.tar", "a/c/d.tar", "é.txt"].map(|name| (name, "x")).into_iter().collect();
    if let Ok(found) = store.find(text) {
        assert!(!found.is_empty());
    }
}

/// The decoder of JSON fields.
pub(crate) fn json(data: &[u8]) {
    let Ok(entry) = find(infeed::decode::DECODERS, "json", "decoder") else { return };
    let Ok(decoder) = entry.make(&serde_json::Map::new()) else { return };
    if let Ok(Value::Json(text)) = decoder.decode(&Bytes::copy_from_slice(data), &mut Scratch::new()) {
        assert!(text.len() <= data.len());
    }
}
