//! `infeed verify-epoch`: checks the ledgers of all ranks and restarts against the order.

use crate::{
    args::VerifyEpochArgs,
    bench::recipe,
    fault::Fault,
    human,
    report::Report,
    table::{Align, Table},
};
use infeed::{
    Error, open,
    order::ledger::{Ledger, Verdict},
};
use infeed_core::Source;
use serde_json::{Map, Value as Json, json};

/// Most rows that are named by shard and key, for each kind of error.
const NAMED: usize = 20;

/// The report, and whether every epoch is exact.
pub(crate) fn run(args: &VerifyEpochArgs) -> Result<(Report, bool), Fault> {
    let plan = open(recipe(&args.recipe, args.allow_commands)?)?;
    let ledgers = args.ledger.iter().map(|path| read(path)).collect::<Result<Vec<Ledger>, Fault>>()?;
    let (mut texts, mut found, mut exact) = (vec![], vec![], true);
    for verdict in plan.verify(&ledgers, args.epoch)? {
        exact &= verdict.is_exact();
        let rows = rows(&verdict);
        texts.push(text(&verdict, &rows, &*plan.source));
        found.push(as_json(&verdict, &rows, &*plan.source));
    }
    let json = json!({"exact": exact, "ledgers": ledgers.len(), "epochs": found});
    Ok((Report { text: texts.join("\n"), json }, exact))
}

fn read(path: &str) -> Result<Ledger, Fault> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))?;
    let ledger = Ledger::from_json(&text).map_err(|e| Error::argument(format!("`{path}`: {e}")))?;
    Ok(ledger.named(path))
}

/// The rows to name, by kind of error.
fn rows(verdict: &Verdict) -> [(&'static str, Vec<u64>); 4] {
    let wrong = |pick: fn(&infeed::order::ledger::Wrong) -> &Vec<u64>| {
        verdict.wrong.iter().flat_map(pick).copied().take(NAMED).collect()
    };
    let first = |rows: &[u64]| rows.iter().take(NAMED).copied().collect();
    [
        ("missing", first(&verdict.missing.rows)),
        ("double", first(&verdict.double.rows)),
        ("not_promised", wrong(|w| &w.given)),
        ("lacking", wrong(|w| &w.lacking)),
    ]
}

fn text(verdict: &Verdict, rows: &[(&str, Vec<u64>)], source: &dyn Source) -> String {
    let mut table = Table::new(&[("", Align::Left); 4]).indented(2);
    let mut any = false;
    for (what, rows) in rows {
        for row in rows {
            let (shard, key) = place(source, *row);
            let what = what.replace('_', " ");
            table.row([what, format!("row {row}"), human::line(&shard, 60), human::line(&key, 60)]);
            any = true;
        }
    }
    if any { format!("{verdict}\n{}", table.render()) } else { verdict.to_string() }
}

fn as_json(verdict: &Verdict, rows: &[(&str, Vec<u64>)], source: &dyn Source) -> Json {
    let named = |rows: &[u64]| -> Json {
        let one = |row: &u64| {
            let (shard, key) = place(source, *row);
            json!({"row": row, "shard": shard, "key": key})
        };
        rows.iter().map(one).collect()
    };
    let named: Map<String, Json> =
        rows.iter().map(|(what, rows)| ((*what).to_owned(), named(rows))).collect();
    json!({
        "exact": verdict.is_exact(),
        "text": verdict.to_string(),
        "verdict": verdict,
        "named": named,
    })
}

/// Shard and key of a row. A faulty loader may have given rows that do not exist.
fn place(source: &dyn Source, row: u64) -> (String, String) {
    if row < source.rows() {
        (source.shard_of(row), source.key(row))
    } else {
        ("no such row".to_owned(), String::new())
    }
}
