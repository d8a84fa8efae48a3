//! The part of `infeed cache` that is about samples which pipelines have kept.

use crate::{
    fault::Fault,
    human,
    report::Report,
    table::{Align, Table},
};
use infeed::store::cache::tools::shelves::{self, DamagedSample, ShelfInfo};
use serde_json::{Value as Json, json};
use std::{
    path::Path,
    time::{Duration, SystemTime},
};

/// Two texts below each other, either of which may be empty.
pub(super) fn lines(first: String, second: &str) -> String {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (_, true) => first,
        _ => format!("{first}\n\n{second}"),
    }
}

pub(super) fn ls(folder: &Path) -> Result<Report, Fault> {
    let all = shelves::shelves(folder)?;
    let columns = [
        ("samples of", Align::Left),
        ("after", Align::Left),
        ("samples", Align::Right),
        ("kept", Align::Right),
        ("last used", Align::Right),
    ];
    let mut table = Table::new(&columns);
    let age = |shelf: &ShelfInfo| shelf.used.and_then(|at| SystemTime::now().duration_since(at).ok());
    for shelf in &all {
        let about = shelf.about.as_ref();
        table.row([
            about.map_or("(not known)".to_owned(), |about| human::line(&about.source, 80)),
            about.map_or(String::new(), |about| human::line(&about.stages, 60)),
            human::count(shelf.samples),
            human::bytes(shelf.bytes),
            match (shelf.in_use, age(shelf)) {
                (true, _) => "in use".to_owned(),
                (false, age) => age.map_or(String::new(), |age| super::ago(age.as_secs_f64())),
            },
        ]);
    }
    let (samples, bytes) = all.iter().fold((0, 0), |(n, bytes), one| (n + one.samples, bytes + one.bytes));
    let text = if all.is_empty() {
        String::new()
    } else {
        let pipelines = human::count(all.len() as u64);
        format!(
            "{}{} samples of {pipelines} pipelines, {}",
            table.render(),
            human::count(samples),
            human::bytes(bytes)
        )
    };
    let one = |shelf: &ShelfInfo| {
        json!({
            "source": shelf.about.as_ref().map(|about| &about.source),
            "stages": shelf.about.as_ref().map(|about| &about.stages),
            "samples": shelf.samples, "bytes": shelf.bytes, "in_use": shelf.in_use,
            "unused_seconds": age(shelf).map(|age| age.as_secs()),
        })
    };
    let json = json!({"samples": samples, "bytes": bytes, "shelves": all.iter().map(one).collect::<Json>()});
    Ok(Report { text, json })
}

pub(super) fn verify(folder: &Path, repair: bool) -> Result<(Report, bool), Fault> {
    let found = shelves::verify(folder, repair)?;
    let done = if repair { ", removed" } else { "" };
    let mut text = String::new();
    for sample in &found.damaged {
        text += &format!(
            "damaged{done}: sample at {} of `{}`: {}\n",
            sample.offset,
            sample.path.display(),
            sample.what
        );
    }
    let sound = found.damaged.is_empty();
    if found.samples > 0 || !sound {
        let (samples, bytes) = (human::count(found.samples), human::bytes(found.bytes));
        text += &format!(
            "{samples} sound samples, {bytes}; {} damaged",
            human::count(found.damaged.len() as u64)
        );
    }
    let one = |sample: &DamagedSample| json!({"path": sample.path.display().to_string(), "offset": sample.offset, "what": sample.what});
    let json = json!({
        "samples": found.samples, "bytes": found.bytes, "damaged": found.damaged.iter().map(one).collect::<Json>(),
    });
    Ok((Report { text, json }, sound))
}

pub(super) fn clean(folder: &Path, older: Option<Duration>) -> Result<Report, Fault> {
    let cleaned = shelves::clean(folder, older)?;
    let json = json!({"pipelines": cleaned.shelves, "bytes": cleaned.bytes, "in_use": cleaned.in_use});
    if cleaned.shelves + cleaned.in_use == 0 {
        return Ok(Report { text: String::new(), json });
    }
    let used = match cleaned.in_use {
        0 => String::new(),
        n => format!("; those of {} are in use, and stay", human::count(n)),
    };
    let (shelves, bytes) = (human::count(cleaned.shelves), human::bytes(cleaned.bytes));
    Ok(Report { text: format!("samples of {shelves} pipelines removed, {bytes}{used}"), json })
}
