//! Reads tokenizer files, and identifies files that are not tokenizers.

use infeed_core::{Error, Result};
use serde_json::Value as Json;
use std::path::Path;
use tokenizers::Tokenizer;

/// Advice for models without a `tokenizer.json`.
const CONVERT: &str = "make one with the transformers package: \
     AutoTokenizer.from_pretrained(FOLDER, use_fast=True).save_pretrained(FOLDER)";

/// Reads the file.
pub(super) fn read(path: &str) -> Result<Vec<u8>> {
    if Path::new(path).is_dir() {
        let inside = Path::new(path).join("tokenizer.json");
        let cure = if inside.is_file() {
            format!("give `{}`", inside.display())
        } else {
            "and there is no tokenizer.json in it".to_owned()
        };
        return Err(Error::argument(format!("the tokenizer `{path}` is a folder: {cure}")));
    }
    std::fs::read(path).map_err(|e| Error::io("read", path, e))
}

/// Parses the tokenizer with the library.
pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Tokenizer> {
    // The library panics on inconsistent files, because it indexes by lengths from the file.
    let parsed = std::panic::catch_unwind(|| Tokenizer::from_bytes(bytes));
    let why = match parsed {
        Ok(Ok(tokenizer)) => return Ok(tokenizer),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "its merges do not fit its vocabulary".to_owned(),
    };
    let what = what(name, bytes, &why);
    Err(Error::argument(format!("`{name}` is not a tokenizer.json: {what}")))
}

/// Describes a file that the library rejects.
fn what(name: &str, bytes: &[u8], why: &str) -> String {
    if bytes.is_empty() {
        return "it is empty; copy it again".to_owned();
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        let model = name.ends_with(".model") || bytes.first() == Some(&0x0a);
        let kind = if model { "a SentencePiece model" } else { "binary" };
        return format!("it is {kind}; {CONVERT}");
    };
    let start = text.trim_start();
    // Only `{`, because many vocabularies begin with `[PAD]`.
    if !start.starts_with('{') {
        return plain(name, start);
    }
    match serde_json::from_str::<Json>(text) {
        Err(e) if e.is_eof() => {
            format!("it ends in the middle, after {} bytes; copy it again", bytes.len())
        }
        Err(e) => format!("it is not JSON: {e}"),
        Ok(Json::Object(map)) if map.contains_key("model") => {
            format!("the tokenizers library rejects it: {why}")
        }
        Ok(Json::Object(map))
            if map.contains_key("tokenizer_class") || map.contains_key("model_max_length") =>
        {
            "it is a tokenizer_config.json, the settings of a tokenizer; the tokenizer.json lies beside it"
                .to_owned()
        }
        Ok(Json::Object(map)) if !map.is_empty() && map.values().all(Json::is_u64) => {
            format!("it is a vocab.json, a vocabulary that needs the merges.txt beside it; {CONVERT}")
        }
        Ok(_) => format!("it is JSON, but has no `model`; {CONVERT}"),
    }
}

/// Describes plain text files.
fn plain(name: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(20).filter(|l| !l.is_empty()).collect();
    let columns = |check: fn(&str, &str) -> bool| {
        !lines.is_empty() && lines.iter().all(|l| l.split_once(' ').is_some_and(|(a, b)| check(a, b)))
    };
    let base64 = |a: &str, b: &str| {
        let letters = a.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'='));
        letters && a.len().is_multiple_of(4) && b.parse::<u32>().is_ok()
    };
    if columns(base64) {
        return format!("it is a tiktoken file (tokens in base64 with their ranks); {CONVERT}");
    }
    if text.starts_with("#version") || columns(|_, b| !b.contains(' ')) {
        return format!("it is a merges.txt, which needs the vocab.json beside it; {CONVERT}");
    }
    if name.ends_with(".txt") && lines.iter().all(|l| !l.contains(' ')) {
        return format!("it is a vocabulary of one token per line, as WordPiece models have; {CONVERT}");
    }
    format!("it is some other text; {CONVERT}")
}
