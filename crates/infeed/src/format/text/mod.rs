//! Plain text by line, paragraph or file. Field: `text`.

use super::{rows, shared};
use crate::layout::rows::{FirstRows, Row, RowCodec, RowLayout, RowSchema, Sketch, numbered};
use infeed_core::{
    Args, Can, FieldSpec, FolderLook, FormatEntry, Packing, Param, Record, Result, Sure, Value,
    format::Fields, opening,
};
use infeed_records::{
    Guess,
    split::{Lines, Paragraphs, Split, Whole},
    text::{Invalid, decode, line, paragraph, unmarked},
};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Line,
    Paragraph,
    File,
}

#[derive(Debug, Clone)]
pub(super) struct Text {
    by: By,
    invalid: Invalid,
    largest: u64,
}

/// The entry of this format.
pub(super) const ENTRY: FormatEntry = FormatEntry {
    name: "text",
    about: "plain text by line, paragraph or file",
    details: "Field: `text`. With by=\"line\" blank lines are rows, too; a paragraph is the lines between two blank lines.",
    params: PARAMS,
    endings: &[".txt", ".text"],
    magic: &[],
    can: Can { stream: true, ..Can::ROWS },
    recognise: None,
    recognise_folder: Some(recognise_folder),
    open: |request| {
        let args = request.args()?;
        rows::open(request, Arc::new(make(&args)?), shared::cache(&args)?)
    },
};

/// Text files beside other data are usually documentation: they count only if there is nothing else.
fn recognise_folder(folder: &FolderLook<'_>) -> Result<Option<opening::Guess>> {
    let count = folder.files.iter().filter(|name| ENTRY.has_ending(Packing::bare(name))).count();
    Ok((count > 0).then(|| opening::Guess { count, ..opening::Guess::new(Sure::Barely) }))
}

const PARAMS: &[Param] = &[
    Param {
        name: "by",
        python: "TextRows",
        default: Some("\"line\""),
        about: "what a row is: line, paragraph or file",
    },
    Param {
        name: "errors",
        python: "TextErrors",
        default: Some("\"strict\""),
        about: "how to treat bytes that are not UTF-8: strict (the row is bad), replace or ignore",
    },
    shared::INDEX,
    shared::MAX_ROW,
];

pub(super) fn make(args: &Args) -> Result<Text> {
    let by = match args.text("by")? {
        "line" => By::Line,
        "paragraph" => By::Paragraph,
        "file" => By::File,
        _ => return Err(args.error("by", "must be line, paragraph or file")),
    };
    let invalid = match args.text("errors")? {
        "strict" => Invalid::Refuse,
        "replace" => Invalid::Replace,
        "ignore" => Invalid::Skip,
        _ => return Err(args.error("errors", "must be strict, replace or ignore")),
    };
    Ok(Text { by, invalid, largest: args.int("max_row", 1)? as u64 })
}

impl RowLayout for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn splitter(&self) -> Box<dyn Split> {
        match self.by {
            By::Line => Box::new(Lines::new(true)),
            By::Paragraph => Box::new(Paragraphs::default()),
            By::File => Box::new(Whole::default()),
        }
    }

    fn lines(&self) -> Option<bool> {
        (self.by == By::Line).then_some(true)
    }

    fn numbered(&self) -> bool {
        self.by != By::File
    }

    fn largest(&self) -> u64 {
        self.largest
    }

    fn tag(&self) -> String {
        format!("{:?}", self.by)
    }

    fn look(&self) -> usize {
        0
    }

    fn sketch(&self, _: &FirstRows) -> Result<Sketch> {
        Ok(vec![("text".into(), Guess::Text)])
    }

    fn schema(&self, _: Vec<(Arc<str>, Guess)>) -> Result<Arc<dyn RowSchema>> {
        Ok(Arc::new(self.clone()))
    }
}

impl RowSchema for Text {
    fn fields(&self) -> Fields {
        vec![("text".into(), FieldSpec::text())]
    }

    fn codec(&self, _: &[u8]) -> Result<Arc<dyn RowCodec>> {
        Ok(Arc::new(self.clone()))
    }
}

impl RowCodec for Text {
    fn records(&self, rows: &[Row], fields: &[Arc<str>], out: &mut Vec<Result<Record>>) {
        for row in rows {
            let bytes = if row.number == 0 { unmarked(&row.bytes) } else { &row.bytes };
            let bytes = match self.by {
                By::Line => line(bytes),
                By::Paragraph => paragraph(bytes),
                By::File => bytes,
            };
            let value = |field: &Arc<str>| {
                if **field != *"text" {
                    return Ok(Value::Missing);
                }
                decode(bytes, self.invalid)
                    .map(|text| Value::Text(text.into_owned()))
                    .map_err(|e| e.in_field(field))
            };
            let made = fields.iter().map(value).collect::<Result<_>>();
            out.push(made.map(|fields| Record { fields }).map_err(|e| numbered(row, e)));
        }
    }
}
