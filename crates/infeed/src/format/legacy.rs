//! Temporary.
#![allow(missing_docs)]
use infeed_core::{Can, FormatEntry, Magic, OpenRequest, Opened, Param, Result};
use std::sync::Arc;
const fn p(name: &'static str) -> Param {
    Param { name, python: "Any", default: Some("null"), about: "" }
}
fn names(request: &OpenRequest<'_>) -> Result<Vec<String>> {
    let mut out = vec![];
    for path in request.paths {
        out.extend(request.store.find(path)?.into_iter().map(|f| f.name().to_owned()));
    }
    Ok(out)
}
const P: &[Param] = &[
    p("columns"),
    p("where"),
    p("nulls"),
    p("fill"),
    p("matrix"),
    p("read"),
    p("split"),
    p("table"),
    p("query"),
    p("key"),
    p("page"),
    p("delimiter"),
    p("header"),
    p("names"),
    p("types"),
];
const PARQUET: FormatEntry = FormatEntry {
    name: "parquet",
    about: "",
    details: "",
    params: P,
    endings: &[".parquet", ".pq"],
    magic: &[Magic { at: 0, bytes: b"PAR1" }],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: None,
    open: |r| Ok(Opened::Rows(Arc::new(infeed_table::open("parquet", &names(r)?, r.given)?))),
};
const ARROW: FormatEntry = FormatEntry {
    name: "arrow",
    about: "",
    details: "",
    params: P,
    endings: &[".arrow", ".feather", ".ipc"],
    magic: &[Magic { at: 0, bytes: b"ARROW1" }],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: None,
    open: |r| Ok(Opened::Rows(Arc::new(infeed_table::open("arrow", &names(r)?, r.given)?))),
};
const AVRO: FormatEntry = FormatEntry {
    name: "avro",
    about: "",
    details: "",
    params: P,
    endings: &[".avro"],
    magic: &[Magic { at: 0, bytes: b"Obj\x01" }],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: None,
    open: |r| Ok(Opened::Rows(Arc::new(infeed_table::open("avro", &names(r)?, r.given)?))),
};
const SQLITE: FormatEntry = FormatEntry {
    name: "sqlite",
    about: "",
    details: "",
    params: P,
    endings: &[".sqlite", ".sqlite3", ".db"],
    magic: &[Magic { at: 0, bytes: b"SQLite format 3\0" }],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: None,
    open: |r| Ok(Opened::Rows(Arc::new(infeed_table::open("sqlite", &names(r)?, r.given)?))),
};
const CSV_TABLE: FormatEntry = FormatEntry {
    name: "csv_table",
    about: "",
    details: "",
    params: P,
    endings: &[],
    magic: &[],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: None,
    open: |r| Ok(Opened::Rows(Arc::new(infeed_table::open("csv_table", &names(r)?, r.given)?))),
};
pub(super) const ENTRIES: &[&FormatEntry] = &[&PARQUET, &ARROW, &AVRO, &SQLITE, &CSV_TABLE];
