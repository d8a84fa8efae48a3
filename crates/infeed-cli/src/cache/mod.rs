//! `infeed cache`: lists, verifies and cleans caches of stores and of samples.

pub(crate) mod args;
mod samples;

use crate::{
    fault::Fault,
    human,
    report::Report,
    table::{Align, Table},
};
use args::{CacheCommand, CleanArgs, FolderArgs, VerifyArgs};
use infeed::store::cache::tools::{self, CachedObject, DamagedChunk};
use serde_json::{Value as Json, json};
use std::time::{Duration, SystemTime};

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// The report, and whether nothing is damaged.
pub(crate) fn run(command: &CacheCommand) -> Result<(Report, bool), Fault> {
    match command {
        CacheCommand::Ls(args) => ls(args).map(|report| (report, true)),
        CacheCommand::Verify(args) => verify(args),
        CacheCommand::Clean(args) => clean(args).map(|report| (report, true)),
    }
}

fn ls(args: &FolderArgs) -> Result<Report, Fault> {
    let (all, shelves) = (tools::objects(&args.folder)?, samples::ls(&args.folder)?);
    let columns = [
        ("object", Align::Left),
        ("size", Align::Right),
        ("chunks", Align::Right),
        ("of", Align::Right),
        ("cached", Align::Right),
        ("last used", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let age = |object: &CachedObject| object.used.and_then(|at| SystemTime::now().duration_since(at).ok());
    for object in &all {
        table.row([
            if object.name.is_empty() { "(not known)".to_owned() } else { human::line(&object.name, 100) },
            human::bytes(object.size),
            human::count(object.chunks),
            human::count(object.of),
            human::bytes(object.bytes),
            age(object).map_or(String::new(), |age| ago(age.as_secs_f64())),
        ]);
    }
    let (chunks, bytes) =
        all.iter().fold((0, 0), |(chunks, bytes), one| (chunks + one.chunks, bytes + one.bytes));
    let mut text = String::new();
    if !all.is_empty() || shelves.text.is_empty() {
        text = format!(
            "{}{} objects, {} chunks, {}",
            table.render(),
            human::count(all.len() as u64),
            human::count(chunks),
            human::bytes(bytes)
        );
    }
    text = samples::lines(text, &shelves.text);
    let one = |object: &CachedObject| {
        json!({
            "name": object.name, "size": object.size, "chunks": object.chunks, "of": object.of,
            "bytes": object.bytes, "unused_seconds": age(object).map(|age| age.as_secs()),
        })
    };
    let json = json!({
        "chunks": chunks, "bytes": bytes, "objects": all.iter().map(one).collect::<Json>(),
        "samples": shelves.json,
    });
    Ok(Report { text, json })
}

fn ago(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => "just now".to_owned(),
        s if s < 7200.0 => format!("{:.0} min ago", s / 60.0),
        s if s < 2.0 * DAY => format!("{:.0} h ago", s / 3600.0),
        s => format!("{:.0} days ago", s / DAY),
    }
}

fn verify(args: &VerifyArgs) -> Result<(Report, bool), Fault> {
    let (found, shelves) =
        (tools::verify(&args.folder, args.repair)?, samples::verify(&args.folder, args.repair)?);
    let done = if args.repair { ", removed" } else { "" };
    let mut text = String::new();
    for chunk in &found.damaged {
        let name = human::line(&chunk.name, 100);
        text += &format!("damaged{done}: chunk {} of `{name}`: {}\n", chunk.chunk, chunk.what);
    }
    text += &format!(
        "{} sound chunks, {}; {} damaged",
        human::count(found.chunks),
        human::bytes(found.bytes),
        human::count(found.damaged.len() as u64)
    );
    if found.left > 0 {
        text += &format!("\n{} files that killed processes have left{done}", human::count(found.left));
    }
    if let Some(counted) = found.counted.filter(|counted| *counted != found.bytes) {
        text += &format!(
            "\nthe journal counts {}: jobs put that right when they open the cache",
            human::bytes(counted)
        );
    }
    let one = |chunk: &DamagedChunk| {
        json!({
            "name": chunk.name, "chunk": chunk.chunk, "what": chunk.what,
            "path": chunk.path.display().to_string(),
        })
    };
    if found.chunks == 0 && found.is_sound() && !shelves.0.text.is_empty() {
        text.clear();
    }
    let sound = found.is_sound() && shelves.1;
    let text = samples::lines(text, &shelves.0.text);
    let json = json!({
        "sound": sound, "samples": shelves.0.json, "chunks": found.chunks, "bytes": found.bytes, "left": found.left,
        "counted": found.counted, "repaired": args.repair,
        "damaged": found.damaged.iter().map(one).collect::<Json>(),
    });
    Ok((Report { text, json }, sound))
}

fn clean(args: &CleanArgs) -> Result<Report, Fault> {
    let older = args.older.map(|days| Duration::from_secs_f64(days * DAY));
    let (cleaned, shelves) = (tools::clean(&args.folder, older)?, samples::clean(&args.folder, older)?);
    let used = if cleaned.in_use { "; the cache is in use, and goes on" } else { "" };
    let text =
        format!("{} chunks removed, {}{used}", human::count(cleaned.chunks), human::bytes(cleaned.bytes));
    let text = if cleaned.chunks == 0 && !shelves.text.is_empty() { String::new() } else { text };
    let text = samples::lines(text, &shelves.text);
    let json = json!({
        "chunks": cleaned.chunks, "bytes": cleaned.bytes, "in_use": cleaned.in_use, "samples": shelves.json,
    });
    Ok(Report { text, json })
}
