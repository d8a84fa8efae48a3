//! `infeed tokenize`: what it writes, and that it resumes after it was stopped.

use crate::{infeed, json};
use infeed_tokens::{Drift, Read, TokenFile};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A tokenizer of single letters and blanks.
fn tokenizer(dir: &Path) -> String {
    let mut vocab: serde_json::Map<String, serde_json::Value> =
        ('a'..='z').enumerate().map(|(n, c)| (c.to_string(), (n + 1).into())).collect();
    vocab.insert("?".to_owned(), 0.into());
    let file = json!({
        "version": "1.0",
        "added_tokens": [{"id": 27, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false,
                          "normalized": false, "special": true}],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": false},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": vocab},
    });
    let path = dir.join("tokenizer.json");
    fs::write(&path, file.to_string()).unwrap();
    path.to_string_lossy().into_owned()
}

/// Tars of texts; document `n` is its number in letters, some of them long.
fn texts(dir: &Path, shards: usize, each: usize) -> Vec<PathBuf> {
    let shard = |s: usize| {
        let path = dir.join(format!("text-{s}.tar"));
        let mut tar = tar::Builder::new(fs::File::create(&path).unwrap());
        for n in s * each..(s + 1) * each {
            let text = text(n);
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            tar.append_data(&mut header, format!("{n:06}.txt"), text.as_bytes()).unwrap();
        }
        tar.finish().unwrap();
        path
    };
    (0..shards).map(shard).collect()
}

fn text(n: usize) -> String {
    let word: String = n.to_string().bytes().map(|b| (b - b'0' + b'a') as char).collect();
    word.repeat(1 + n % 50)
}

fn tokens(n: usize, eod: bool) -> Vec<i64> {
    text(n).bytes().map(|b| i64::from(b - b'a') + 1).chain(eod.then_some(27)).collect()
}

fn corpus(prefix: &Path) -> Vec<Vec<i64>> {
    let store: std::sync::Arc<dyn infeed_core::Store> = std::sync::Arc::new(infeed::store::LocalStore::new());
    let file = TokenFile::open(&store, &prefix.to_string_lossy(), None, Read::Map, Drift::Error).unwrap();
    (0..file.index().unwrap().documents()).map(|d| file.sequence(d).unwrap()).collect()
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn documents_are_written_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (tokenizer(dir.path()), dir.path().join("out/corpus"));
    fs::create_dir(dir.path().join("out")).unwrap();
    texts(dir.path(), 3, 200);
    let source = dir.path().join("text-*.tar");
    let args = ["tokenize", path(&source), "--tokenizer", &file, "--out", path(&out), "--append-eod", "auto"];
    let found = json(&args);
    let wanted: Vec<Vec<i64>> = (0..600).map(|n| tokens(n, true)).collect();
    assert_eq!(corpus(&out), wanted);
    let sum: usize = wanted.iter().map(Vec::len).sum();
    assert_eq!((&found["documents"], &found["tokens"]), (&600.into(), &sum.into()));
    assert_eq!((&found["dtype"], &found["eod"], &found["vocab"]), (&"u16".into(), &27.into(), &28.into()));
    let left: Vec<String> = fs::read_dir(dir.path().join("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    // Existing files are not touched without an option.
    let again = infeed(&args);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--overwrite"));
    let kept = json(&[&args[..], &["--resume"]].concat());
    assert_eq!((&kept["documents"], &kept["corpora"][0]["from_before"]), (&600.into(), &600.into()));
    let anew = json(&[
        "tokenize",
        path(&source),
        "--tokenizer",
        &file,
        "--out",
        path(&out),
        "--overwrite",
        "--dtype",
        "i32",
    ]);
    assert_eq!((&anew["dtype"], &anew["eod"]), (&"i32".into(), &serde_json::Value::Null));
    assert_eq!(corpus(&out), (0..600).map(|n| tokens(n, false)).collect::<Vec<_>>());
}

#[test]
fn a_corpus_can_be_several() {
    let dir = tempfile::tempdir().unwrap();
    let file = tokenizer(dir.path());
    texts(dir.path(), 2, 100);
    let (source, out) = (dir.path().join("text-*.tar"), dir.path().join("c"));
    let args = ["tokenize", path(&source), "--tokenizer", &file, "--out", path(&out), "--workers", "2"];
    let found = json(&[&args[..], &["--shards", "3"]].concat());
    assert_eq!(found["corpora"].as_array().unwrap().len(), 3);
    let all: Vec<Vec<i64>> = (0..3).flat_map(|n| corpus(&dir.path().join(format!("c-{n:05}")))).collect();
    assert_eq!(all, (0..200).map(|n| tokens(n, false)).collect::<Vec<_>>());
    json(&[&args[..], &["--per-file"]].concat());
    assert_eq!(
        corpus(&dir.path().join("c-text-1")),
        (100..200).map(|n| tokens(n, false)).collect::<Vec<_>>()
    );
}

#[test]
fn streams_are_read_too() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (tokenizer(dir.path()), dir.path().join("c"));
    let shards = texts(dir.path(), 1, 50);
    let source = format!("pipe:cat {}", shards[0].display());
    json(&["tokenize", &source, "--tokenizer", &file, "--out", path(&out)]);
    assert_eq!(corpus(&out), (0..50).map(|n| tokens(n, false)).collect::<Vec<_>>());
}

/// Starts the command, ends it with `signal` once its journal is there, and runs it again to its end.
#[cfg(unix)]
fn stopped(signal: &str) {
    let dir = tempfile::tempdir().unwrap();
    let file = tokenizer(dir.path());
    texts(dir.path(), 4, 5000);
    let (source, whole, cut) =
        (dir.path().join("text-*.tar"), dir.path().join("whole"), dir.path().join("cut"));
    let args = |out: &Path| -> Vec<String> {
        let args =
            ["tokenize", path(&source), "--tokenizer", &file, "--out", path(out), "--append-eod", "27"];
        args.iter().chain(&["--checkpoint", "0", "--workers", "1"]).map(|a| (*a).to_owned()).collect()
    };
    assert_eq!(infeed_cli::run(args(&whole)), 0);
    let journal = dir.path().join("cut.journal");
    let mut stops = 0;
    loop {
        let mut child = Command::new(env!("CARGO_BIN_EXE_infeed"))
            .args(args(&cut))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let before = fs::read(&journal).ok();
        // Somewhere in the middle: a later journal than the one that it started from.
        while child.try_wait().unwrap().is_none() && (!journal.exists() || fs::read(&journal).ok() == before)
        {
            std::thread::yield_now();
        }
        if stops < 3 {
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        }
        let status = child.wait().unwrap();
        if status.success() {
            break;
        }
        assert_eq!(status.code(), if signal == "-INT" { Some(130) } else { None });
        stops += 1;
    }
    assert!(stops > 0, "it was never stopped");
    for ending in ["bin", "idx"] {
        let read = |name: &str| fs::read(dir.path().join(format!("{name}.{ending}"))).unwrap();
        assert!(read("cut") == read("whole"), "{ending} differs after {stops} stops");
    }
    assert!(!journal.exists());
}

#[cfg(unix)]
#[test]
fn killed_it_goes_on() {
    stopped("-KILL");
}

#[cfg(unix)]
#[test]
fn interrupted_it_goes_on() {
    stopped("-INT");
}

/// The same rows with another text: the run that was stopped is not continued.
#[cfg(unix)]
#[test]
fn other_texts_behind_a_pattern_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (tokenizer(dir.path()), dir.path().join("c"));
    let tars = texts(dir.path(), 2, 5000);
    let source = dir.path().join("text-*.tar");
    let args = ["tokenize", path(&source), "--tokenizer", &file, "--out", path(&out), "--checkpoint", "0"];
    let journal = dir.path().join("c.journal");
    let mut child = Command::new(env!("CARGO_BIN_EXE_infeed"))
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() && !journal.exists() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(journal.exists(), "it was not stopped in the middle");
    let mut longer = fs::read(&tars[1]).unwrap();
    longer.extend([0; 1024]);
    fs::write(&tars[1], longer).unwrap();
    let output = infeed(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("source") && said.contains("--overwrite"), "{said}");
}

#[test]
fn another_run_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (tokenizer(dir.path()), dir.path().join("c"));
    texts(dir.path(), 1, 20);
    let source = dir.path().join("text-*.tar");
    fs::write(dir.path().join("c.bin.part"), b"").unwrap();
    fs::write(dir.path().join("c.idx.part"), b"").unwrap();
    fs::write(
        dir.path().join("c.journal"),
        json!({"identity": {"tokenizer": "another"}, "rows": 0, "documents": 0, "tokens": 0}).to_string(),
    )
    .unwrap();
    let args = ["tokenize", path(&source), "--tokenizer", &file, "--out", path(&out)];
    let output = infeed(&args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("tokenizer") && said.contains("--overwrite"), "{said}");
    json(&[&args[..], &["--overwrite"]].concat());
    assert_eq!(corpus(&out).len(), 20);
}

#[test]
fn slips_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (tokenizer(dir.path()), dir.path().join("c"));
    texts(dir.path(), 1, 5);
    let source = dir.path().join("text-0.tar");
    let base = ["tokenize", path(&source), "--out", path(&out), "--tokenizer"];
    let cases: [(&[&str], &str); 5] = [
        (&[&file, "--field", "body"], "no field `body`"),
        (&[&file, "--append-eod", "</s>"], "no token `</s>`"),
        (&["/no/such.json"], "/no/such.json"),
        (&[path(&source)], "is not a tokenizer.json"),
        (&[&file, "--format", "nonsense"], "no format"),
    ];
    for (more, wanted) in cases {
        let output = infeed(&[&base[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    assert!(!dir.path().join("c.bin.part").exists(), "nothing is begun before all is known");
}
