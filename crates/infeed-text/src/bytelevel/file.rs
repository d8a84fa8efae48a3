//! Recognises tokenizer files that this module supports.

use super::{ByteLevel, added::Added, class::Classes, merge::Merges, split::Pattern};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::HashMap;
use tokenizers::AddedToken;

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Json,
    #[serde(default)]
    pre_tokenizer: Json,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    dropout: Option<f64>,
    #[serde(default)]
    continuing_subword_prefix: Option<String>,
    #[serde(default)]
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    ignore_merges: bool,
    vocab: HashMap<String, u32>,
    merges: Vec<Merge>,
}

/// The two notations of a merge.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Text(String),
}

impl ByteLevel {
    /// Loads the tokenizer from a file that the library accepts, with the added tokens as the library numbers them.
    /// Returns `None` if it is of another kind or has anything unsupported.
    pub(crate) fn from_file(json: &[u8], added: Vec<(u32, AddedToken)>) -> Option<Self> {
        let file: File = serde_json::from_slice(json).ok()?;
        let model = file.model;
        let plain = |text: &Option<String>| text.as_deref().unwrap_or("").is_empty();
        if model.r#type.is_some_and(|t| t != "BPE")
            || model.dropout.is_some_and(|p| p != 0.0)
            || !plain(&model.continuing_subword_prefix)
            || !plain(&model.end_of_word_suffix)
        {
            return None;
        }
        let (pattern, prefix_space) = pre_tokenizer(&file.pre_tokenizer)?;
        let stand_ins = stand_ins();
        let mut bytes = [0; 256];
        for (byte, token) in bytes.iter_mut().enumerate() {
            // Every byte has a token, so nothing is ever unknown, and the unknown token of the file does not matter.
            *token = *model.vocab.get(stand_ins[byte].encode_utf8(&mut [0; 4]) as &str)?;
        }
        let mut merges = Vec::with_capacity(model.merges.len());
        for merge in &model.merges {
            let (left, right) = match merge {
                Merge::Pair(left, right) => (left.as_str(), right.as_str()),
                Merge::Text(both) => both.split_once(' ')?,
            };
            let id = |token: &str| model.vocab.get(token).copied();
            merges.push((id(left)?, id(right)?, id(&format!("{left}{right}"))?));
        }
        Some(ByteLevel {
            classes: Classes::new(),
            pattern,
            prefix_space,
            ascii_only: normalizer(&file.normalizer)?,
            bytes,
            merges: Merges::new(&merges),
            whole: if model.ignore_merges { whole(&model.vocab, &stand_ins) } else { HashMap::new() },
            added: Added::new(added)?,
        })
    }
}

/// Returns the character that represents each byte in a byte-level vocabulary: itself if it is printable, otherwise
/// the next free one from U+0100 on.
fn stand_ins() -> [char; 256] {
    let mut next = 0x100;
    std::array::from_fn(|byte| {
        let byte = byte as u8;
        if matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff) {
            return char::from(byte);
        }
        let stand_in = char::from_u32(next).unwrap_or_default();
        next += 1;
        stand_in
    })
}

/// Returns the vocabulary keyed by the bytes of its tokens.
fn whole(vocab: &HashMap<String, u32>, stand_ins: &[char; 256]) -> HashMap<Box<[u8]>, u32> {
    let bytes: HashMap<char, u8> = (0u8..=255).map(|b| (stand_ins[usize::from(b)], b)).collect();
    let word = |token: &str| token.chars().map(|c| bytes.get(&c).copied()).collect::<Option<Box<[u8]>>>();
    vocab.iter().filter_map(|(token, id)| Some((word(token)?, *id))).collect()
}

/// Returns whether the normaliser leaves only ASCII unchanged; `None` if it is not supported.
fn normalizer(json: &Json) -> Option<bool> {
    match json {
        Json::Null => Some(false),
        json => match kind(json)? {
            "NFC" | "NFD" | "NFKC" | "NFKD" => Some(true),
            "Sequence" => {
                let mut ascii_only = false;
                for part in json.get("normalizers")?.as_array()? {
                    ascii_only |= normalizer(part)?;
                }
                Some(ascii_only)
            }
            _ => None,
        },
    }
}

fn kind(json: &Json) -> Option<&str> {
    json.get("type")?.as_str()
}

/// Returns the pattern, and whether text gets a leading space.
fn pre_tokenizer(json: &Json) -> Option<(Pattern, bool)> {
    let flag = |json: &Json, name: &str| json.get(name).and_then(Json::as_bool);
    match kind(json)? {
        // In files from before the flag it is true.
        "ByteLevel" if flag(json, "use_regex").unwrap_or(true) => {
            Some((Pattern::Gpt2, flag(json, "add_prefix_space")?))
        }
        "Sequence" => match json.get("pretokenizers")?.as_array()?.as_slice() {
            [split, bytes]
                if kind(split)? == "Split"
                    && kind(bytes)? == "ByteLevel"
                    && split.get("behavior")?.as_str()? == "Isolated"
                    && !flag(split, "invert")?
                    && !flag(bytes, "use_regex")?
                    && !flag(bytes, "add_prefix_space")? =>
            {
                let regex = split.get("pattern")?.get("Regex")?.as_str()?;
                Some((Pattern::spelled(regex)?, false))
            }
            [one] => pre_tokenizer(one),
            _ => None,
        },
        _ => None,
    }
}
