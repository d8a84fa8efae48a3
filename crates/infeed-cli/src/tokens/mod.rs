//! `infeed tokens`: inspects, verifies, merges, splits and lists token corpora.

pub(crate) mod args;

use crate::{
    fault::Fault,
    human,
    output::bold,
    report::Report,
    table::{Align, Table},
};
use args::{InfoArgs, ListArgs, MergeArgs, SplitArgs, TokensCommand, VerifyArgs};
use infeed::store::LocalStore;
use infeed_core::{Error, Store};
use infeed_tokens::{
    list::{DEFAULT, by_tokens},
    prefix_of,
    tools::{self, Info, Merged, Shares},
};
use serde_json::json;
use std::{collections::HashSet, path::Path, sync::Arc};

/// The report, and whether there were no errors.
pub(crate) fn run(command: &TokensCommand) -> Result<(Report, bool), Fault> {
    let report = match command {
        TokensCommand::Info(args) => info(args),
        TokensCommand::Verify(args) => return verify(args),
        TokensCommand::Merge(args) => merge(args),
        TokensCommand::Split(args) => split(args),
        TokensCommand::List(args) => list(args),
    };
    report.map(|report| (report, true))
}

/// The store that corpora are read from.
pub(crate) fn local() -> Arc<dyn Store> {
    Arc::new(LocalStore::new())
}

/// Removes duplicates: a shell pattern matches both x.bin and x.idx.
fn once(prefixes: &[String]) -> Vec<&String> {
    let mut seen = HashSet::new();
    prefixes.iter().filter(|path| seen.insert(prefix_of(path))).collect()
}

fn info(args: &InfoArgs) -> Result<Report, Fault> {
    let store = local();
    let all: Vec<Info> =
        once(&args.prefix).into_iter().map(|p| tools::info(&store, p, args.raw)).collect::<Result<_, _>>()?;
    let columns = ["corpus", "kind", "type", "documents", "tokens", "shortest", "median", "longest", "bytes"];
    let align =
        |title: &str| if matches!(title, "corpus" | "kind" | "type") { Align::Left } else { Align::Right };
    let mut table = Table::new(&columns.map(|title| (title, align(title))));
    for info in &all {
        let counts =
            [info.documents, info.tokens, info.shortest, info.median, info.longest].map(human::count);
        let bytes = human::bytes(info.bin_bytes + info.idx_bytes);
        let words = [info.prefix.clone(), info.kind.to_owned(), info.dtype.to_string()];
        table.row(words.into_iter().chain(counts).chain([bytes]));
    }
    let mut text = table.render();
    for info in all.iter().filter(|info| info.uncounted_bytes > 0) {
        let what =
            if info.drifts { ", one token for each document: read it with drift=\"repair\"" } else { "" };
        let bytes = human::count(info.uncounted_bytes);
        text += &format!("\n{}: {bytes} bytes that the index does not count{what}", info.prefix);
    }
    let (documents, tokens): (u64, u64) =
        all.iter().fold((0, 0), |(d, t), info| (d + info.documents, t + info.tokens));
    Ok(Report { text, json: json!({"documents": documents, "tokens": tokens, "corpora": all}) })
}

fn verify(args: &VerifyArgs) -> Result<(Report, bool), Fault> {
    let mut all = Vec::new();
    let (store, mut text) = (local(), String::new());
    for prefix in once(&args.prefix) {
        let found = tools::verify(&store, prefix, args.raw, args.vocab, args.drift.into())?;
        let ids = found.ids.map_or("no tokens".to_owned(), |(least, most)| format!("ids {least} to {most}"));
        let (documents, tokens) = (human::count(found.documents), human::count(found.tokens));
        let verdict = if found.faults.is_empty() { "ok" } else { "faulty" };
        text +=
            &format!("{}: {}, {documents} documents, {tokens} tokens, {ids}\n", found.prefix, bold(verdict));
        found.faults.iter().for_each(|fault| text += &format!("  {fault}\n"));
        if found.wrong_tokens > found.faults.len() as u64 {
            text += &format!("  {} wrong tokens in total\n", human::count(found.wrong_tokens));
        }
        all.push(found);
    }
    let sound = all.iter().all(|found| found.faults.is_empty());
    Ok((Report { text, json: json!({"sound": sound, "corpora": all}) }, sound))
}

fn written(parts: &[Merged]) -> String {
    let mut table = Table::new(&[
        ("corpus", Align::Left),
        ("type", Align::Left),
        ("documents", Align::Right),
        ("tokens", Align::Right),
    ]);
    for part in parts {
        let counts = [part.documents, part.tokens].map(human::count);
        table.row([part.prefix.clone(), part.dtype.to_string()].into_iter().chain(counts));
    }
    table.render()
}

fn merge(args: &MergeArgs) -> Result<Report, Fault> {
    let prefixes: Vec<String> = once(&args.prefix).into_iter().cloned().collect();
    let merged = tools::merge(&local(), &prefixes, &args.out, args.raw, args.dtype, args.drift.into())?;
    Ok(Report { text: written(std::slice::from_ref(&merged)), json: json!(merged) })
}

fn split(args: &SplitArgs) -> Result<Report, Fault> {
    let shares = args.parts.map_or_else(|| Shares::By(args.shares.clone()), Shares::Equal);
    let parts = tools::split(&local(), &args.prefix, &args.out, &shares, args.drift.into())?;
    Ok(Report { text: written(&parts), json: json!({"parts": parts}) })
}

fn list(args: &ListArgs) -> Result<Report, Fault> {
    let (store, mut files) = (local(), Vec::new());
    for path in once(&args.prefix) {
        let found = tools::info(&store, path, args.raw)?;
        let folder = || Path::new(path).parent()?.file_name()?.to_str().map(str::to_owned);
        let corpus = args.corpus.clone().or_else(folder).unwrap_or_else(|| DEFAULT.to_owned());
        files.push((found.prefix, corpus, found.tokens));
    }
    let text = by_tokens(&files)?;
    let entries: Vec<_> = files
        .iter()
        .map(|(prefix, corpus, tokens)| json!({"prefix": prefix, "corpus": corpus, "tokens": tokens}))
        .collect();
    let json = json!({"files": entries, "list": text});
    let Some(out) = &args.out else { return Ok(Report { text, json }) };
    std::fs::write(out, &text).map_err(|e| Error::io("write", out.display().to_string(), e))?;
    Ok(Report { text: format!("{} files in {}", files.len(), out.display()), json })
}
