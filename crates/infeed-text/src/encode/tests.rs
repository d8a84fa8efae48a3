//! Tests of all kinds of files, and of the tokens around texts.

use super::*;
use serde_json::{Value as Json, json};

/// A tokenizer of whole words.
fn words(more: &[(&str, Json)]) -> Vec<u8> {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "unk_token": "?",
                  "vocab": {"?": 0, "a": 1, "b": 2, "c": 3, "d": 4, "[S]": 5, "[E]": 6}},
    });
    for (key, value) in more {
        file[*key] = value.clone();
    }
    file.to_string().into_bytes()
}

fn template() -> Json {
    json!({"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[S]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                   {"SpecialToken": {"id": "[E]", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[S]": {"id": "[S]", "ids": [5], "tokens": ["[S]"]},
                           "[E]": {"id": "[E]", "ids": [6], "tokens": ["[E]"]}}})
}

fn encode(file: &[u8], options: &Options, text: &str) -> Vec<u32> {
    Encoder::from_bytes("t.json", file, options).unwrap().worker().encode(text).unwrap().to_vec()
}

#[test]
fn texts_are_cut_and_dressed() {
    let file = words(&[("post_processor", template())]);
    let with = |options: Options| encode(&file, &options, "a b c d");
    assert_eq!(with(Options::default()), [5, 1, 2, 3, 4, 6]);
    assert_eq!(with(Options { special_tokens: false, ..Options::default() }), [1, 2, 3, 4]);
    let short = Options { max_length: Some(4), ..Options::default() };
    assert_eq!(with(short.clone()), [5, 1, 2, 6]);
    assert_eq!(with(Options { truncation: Side::Left, ..short.clone() }), [5, 3, 4, 6]);
    let ends = Options { bos: Some(Token::Name("d".into())), eos: Some(Token::Id(3)), ..Options::default() };
    assert_eq!(with(ends.clone()), [4, 5, 1, 2, 3, 4, 6, 3]);
    assert_eq!(with(Options { max_length: Some(5), ..ends.clone() }), [4, 5, 1, 6, 3]);
    let error = Encoder::from_bytes("t.json", &file, &Options { max_length: Some(4), ..ends }).unwrap_err();
    assert!(error.to_string().contains("leaves no room"), "{error}");
    assert_eq!(encode(&file, &Options::default(), ""), [5, 6]);
}

#[test]
fn the_file_does_not_truncate_or_pad() {
    let truncation = json!({"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0});
    let padding = json!({"strategy": {"Fixed": 10}, "direction": "Right", "pad_to_multiple_of": null,
                         "pad_id": 0, "pad_type_id": 0, "pad_token": "?"});
    let file = words(&[("truncation", truncation), ("padding", padding)]);
    assert_eq!(encode(&file, &Options::default(), "a b c"), [1, 2, 3]);
}

#[test]
fn a_template_of_another_form_is_left_to_the_library() {
    let mut odd = template();
    let twice = odd["single"][1].clone();
    odd["single"] = json!([twice, {"SpecialToken": {"id": "[E]", "type_id": 0}}, twice]);
    let file = words(&[("post_processor", odd)]);
    assert_eq!(encode(&file, &Options::default(), "a b"), [1, 2, 6, 1, 2]);
}

#[test]
fn tokens_are_found_by_name() {
    let token = json!([{"id": 7, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false,
                        "normalized": false, "special": true}]);
    let file = words(&[("added_tokens", token)]);
    let encoder = Encoder::from_bytes("t.json", &file, &Options::default()).unwrap();
    assert_eq!((encoder.vocab_size(), encoder.engine()), (8, "library"));
    assert_eq!(encoder.end_of_document(), Some(("<|endoftext|>", 7)));
    assert_eq!(encoder.token(&Token::Name("b".into())).unwrap(), 2);
    let error = encoder.token(&Token::Name("<|endoftxt|>".into())).unwrap_err().to_string();
    assert!(error.contains("did you mean `<|endoftext|>`"), "{error}");
    assert!(encoder.token(&Token::Id(8)).is_err());
    let other = Encoder::from_bytes("t.json", &words(&[]), &Options::default()).unwrap();
    assert_ne!(encoder.hash(), other.hash());
    assert!(encoder.worker().serves(&encoder.clone()) && !encoder.worker().serves(&other));
}

#[test]
fn other_files_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let whole = words(&[]);
    let cases: [(&str, &[u8], &str); 11] = [
        ("spm.model", b"\x0a\x0f\x0a\x05<unk>\x15\x00\xff\x80", "SentencePiece"),
        ("vocab.json", br#"{"a": 0, "b": 1}"#, "merges.txt beside it"),
        ("merges.txt", b"#version: 0.2\na b\nc d\n", "merges.txt"),
        ("cl100k.tiktoken", b"IQ== 0\nIg== 1\nIw== 2\n", "tiktoken"),
        ("tokenizer.json", &whole[..whole.len() / 2], "ends in the middle"),
        (
            "tokenizer_config.json",
            br#"{"tokenizer_class": "X", "model_max_length": 5}"#,
            "tokenizer_config.json",
        ),
        ("other.json", br#"{"x": "y"}"#, "no `model`"),
        ("bad.json", b"{\"model\": }", "not JSON"),
        ("wrong.json", br#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}"#, "rejects it"),
        ("vocab.txt", b"[PAD]\n[UNK]\nthe\n", "one token per line"),
        ("empty.json", b"", "empty"),
    ];
    for (name, bytes, wanted) in cases {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let error = Encoder::open(&path.to_string_lossy(), &Options::default()).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains(name), "{name}: {error}");
    }
    let missing = dir.path().join("none.json");
    let error = Encoder::open(&missing.to_string_lossy(), &Options::default()).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    let error = Encoder::open(&dir.path().to_string_lossy(), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("folder") && error.contains("tokenizer.json"), "{error}");
}

#[test]
fn merges_that_do_not_fit_are_an_error() {
    // The merged token is longer than any of the vocabulary.
    let json = br#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}"#;
    let error = Encoder::from_bytes("t.json", json, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("merges do not fit") || error.contains("rejects"), "{error}");
}
