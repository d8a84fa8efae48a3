//! Tests that tokens are identical to the library's.

use super::*;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;
use tokenizers::{
    Tokenizer,
    models::{
        TrainerWrapper,
        bpe::{BPE, BpeTrainerBuilder},
    },
    pre_tokenizers::byte_level::ByteLevel as Level,
};

const CORPUS: [&str; 6] = [
    "The quick brown fox jumps over the lazy dog, and they'll say it's what we've seen: I'm sure he'd agree.",
    "def encode(text):\n    return [token for token in text.split()]  # twelve 12 and 1234 tokens\n\n\n\tend",
    "naïve café größe straße 中文字符和日本語のテキスト русский текст العربية हिन्दी 👩‍👩‍👧‍👦 emoji",
    "aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb abababababab 00000000 11111111 ........ --------        x",
    "the the the then there their them these those that this than thing think through thorough",
    "THE QUICK BROWN FOX DOESN'T CARE, HE'LL RUN. WE'RE HERE!!! ??? <|end|> </s>",
];

/// A tokenizer file, trained on a small text.
fn trained() -> Json {
    static FILE: LazyLock<Json> = LazyLock::new(|| {
        let trainer = BpeTrainerBuilder::new()
            .vocab_size(500)
            .show_progress(false)
            .initial_alphabet(Level::alphabet().into_iter().collect())
            .build();
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer.with_pre_tokenizer(Some(Level::new(false, true, true)));
        tokenizer.train(&mut TrainerWrapper::from(trainer), CORPUS.iter().cycle().take(60)).unwrap();
        serde_json::from_str(&tokenizer.to_string(false).unwrap()).unwrap()
    });
    FILE.clone()
}

fn split(regex: &str) -> Json {
    json!({"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": false},
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
    ]})
}

fn added(content: &str, special: bool, lstrip: bool) -> Json {
    json!({"id": 0, "content": content, "single_word": false, "lstrip": lstrip, "rstrip": false,
           "normalized": !special, "special": special})
}

const LLAMA: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Returns all supported kinds of tokenizers.
fn kinds() -> Vec<Json> {
    let mut kinds = vec![trained(); 6];
    kinds[1]["pre_tokenizer"]["add_prefix_space"] = true.into();
    kinds[2]["pre_tokenizer"] = split(LLAMA);
    kinds[2]["model"]["ignore_merges"] = true.into();
    kinds[3]["pre_tokenizer"] = split(QWEN);
    kinds[3]["normalizer"] = json!({"type": "NFC"});
    let mut tokens: Vec<Json> = ["<|end|>", "</s>", "<|e"].iter().map(|t| added(t, true, false)).collect();
    tokens.extend([added("quick", false, false), added("qui", false, false), added("<mask>", true, true)]);
    for (n, token) in tokens.iter_mut().enumerate() {
        token["id"] = (500 + n).into();
    }
    kinds[4]["added_tokens"] = tokens.clone().into();
    kinds[5]["added_tokens"] = tokens.into();
    kinds[5]["pre_tokenizer"]["add_prefix_space"] = true.into();
    kinds
}

struct Both {
    fast: ByteLevel,
    library: Tokenizer,
    memory: Memory,
}

fn both() -> Vec<Both> {
    let make = |json: Json| {
        let bytes = json.to_string().into_bytes();
        let library = Tokenizer::from_bytes(&bytes).unwrap();
        let added = library.get_added_tokens_decoder().into_iter().collect();
        Both { fast: ByteLevel::from_file(&bytes, added).unwrap(), library, memory: Memory::new() }
    };
    kinds().into_iter().map(make).collect()
}

/// Returns whether the fast path took the text, and checks that its tokens are the library's.
fn check(both: &mut Both, text: &str) -> bool {
    let mut out = vec![];
    let known = both.fast.encode(text, &mut both.memory, usize::MAX, &mut out);
    if known {
        let wanted = both.library.encode_fast(text, false).unwrap();
        assert_eq!(out, wanted.get_ids(), "{text:?}");
    }
    known
}

#[test]
fn texts_of_all_sorts() {
    for (kind, both) in both().iter_mut().enumerate() {
        for text in CORPUS
            .iter()
            .copied()
            .chain(["", " ", "  ", "\n", "\n\n", " \n ", "a", "'", "''s", "'ſ x", "\u{301}"])
        {
            assert!(check(both, text) || !text.is_ascii(), "{kind}: {text:?}");
        }
        check(both, &"x".repeat(5000));
        check(both, &"ab".repeat(2000));
        check(both, &" ".repeat(300));
        check(both, &"é".repeat(300));
    }
}

#[test]
fn every_character_of_the_basic_plane() {
    for both in both().iter_mut().take(3).step_by(2) {
        for start in (0..0x1_1000).step_by(64) {
            // Alone, and between letters and spaces.
            let text: String = (start..start + 64)
                .filter_map(char::from_u32)
                .flat_map(|c| [c, 'a', c, ' ', c, c, '\'', c, '\n', '1'])
                .collect();
            check(both, &text);
        }
    }
}

#[test]
fn added_tokens_are_found_first() {
    let mut all = both();
    let both = &mut all[4];
    for text in ["<|end|>", "a<|end|>b", "<|end|><|end|> <|e</s>", "a quick quicker quiz</s>", "<|e nd|>"] {
        assert!(check(both, text), "{text}");
    }
    assert!(!check(both, "before  <mask>"), "one that strips adjacent whitespace is left to the library");
    assert!(check(&mut all[5], " a<|end|>b<|end|> c"));
}

#[test]
fn it_may_stop_early() {
    for both in &mut both() {
        let text = CORPUS.join(" ").replace(|c: char| !c.is_ascii(), "");
        let all = both.library.encode_fast(text.as_str(), false).unwrap();
        let mut out = vec![];
        assert!(both.fast.encode(&text, &mut both.memory, 10, &mut out));
        assert!((10..40).contains(&out.len()) && all.get_ids().starts_with(&out), "{out:?}");
    }
}

#[test]
fn what_is_not_known_is_left_to_the_library() {
    let odd: [fn(&mut Json); 7] = [
        |j| j["model"]["dropout"] = 0.1.into(),
        |j| j["model"]["end_of_word_suffix"] = "</w>".into(),
        |j| j["normalizer"] = json!({"type": "Lowercase"}),
        |j| j["pre_tokenizer"]["use_regex"] = false.into(),
        |j| j["pre_tokenizer"] = json!({"type": "Whitespace"}),
        |j| j["pre_tokenizer"] = split(r"\w+"),
        |j| drop(j["model"]["vocab"].as_object_mut().unwrap().remove("Ġ")),
    ];
    for change in odd {
        let mut json = trained();
        change(&mut json);
        assert!(ByteLevel::from_file(json.to_string().as_bytes(), vec![]).is_none(), "{json}");
    }
    assert!(ByteLevel::from_file(trained().to_string().as_bytes(), vec![]).is_some());
}

/// Text that exercises the patterns, and arbitrary text.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-eA-E ]{0,8}",
        "[ \t\r\n\u{a0}\u{2003}]{1,4}",
        "'(s|t|re|ve|m|ll|d|S|LL|ſ|x)",
        "[0-9½٣]{1,5}",
        "[!-/<>|]{1,4}",
        "\\PC{0,6}",
        Just("<|end|>".to_owned()),
        Just("quick".to_owned()),
        any::<char>().prop_map(String::from),
        "(the|token| quick|aaaa){1,30}",
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn any_text(texts in prop::collection::vec(text(), 1..8)) {
        thread_local!(static ALL: std::cell::RefCell<Vec<Both>> = std::cell::RefCell::new(both()));
        ALL.with_borrow_mut(|all| {
            for both in all {
                for text in &texts {
                    check(both, text);
                }
            }
        });
    }
}
