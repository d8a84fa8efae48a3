//! Images with annotations: COCO, Pascal VOC, YOLO.
//!
//! A row is an image. Its bytes are read as those of an image folder; what is known about it comes from [`Notes`], one
//! implementation per format. Nothing but the annotation file, or the list of a split, is read at opening: boxes are checked,
//! and label files of single images read, when a row is fetched, so that a wrong one is a bad sample and not the end.

mod arguments;
mod coco;
mod files;
mod values;
mod voc;
mod yolo;
mod yolo_files;

pub(super) use coco::ENTRY as COCO;
pub(super) use voc::ENTRY as VOC;
pub(super) use yolo::ENTRY as YOLO;

use super::FolderSource;
use infeed_core::{
    Cache, Error, FieldSpec, Opened, Record, Result, Scratch, Source, Spec, Stamp, Store, Value,
    format::Fields, keep::Writer, source::FieldDecoder,
};
use serde_json::{Map, json};
use std::{fmt::Debug, sync::Arc};

const IMAGE: &str = "image";
const FILE_NAME: &str = "file_name";

/// What is known about images, by row.
trait Notes: Debug + Send + Sync {
    /// Returns these fields of a row.
    fn values(&self, row: usize, fields: &[&str]) -> Result<Vec<Value>>;

    /// Returns about how many bytes the fields of a row take.
    fn bytes(&self, row: usize) -> u64;

    /// Describes it: what it is and where it comes from.
    fn describe(&self) -> String;
}

/// Images and what is known about them.
#[derive(Debug)]
struct AnnotatedSource {
    images: FolderSource,
    notes: Box<dyn Notes>,
    classes: Vec<String>,
    left_out: Vec<String>,
    spec: Spec,
    decoders: Vec<FieldDecoder>,
}

/// The parts of a source.
struct Parts<'a> {
    store: &'a Arc<dyn Store>,
    /// The folder that names of images begin at; empty if they are complete.
    root: &'a str,
    /// One name per row.
    names: Vec<&'a str>,
    notes: Box<dyn Notes>,
    /// Fields beside `image` and `file_name`.
    fields: Fields,
    /// Those that the user wants.
    wanted: Option<Vec<String>>,
    classes: Vec<String>,
    /// What was left out at opening, in words.
    left_out: Vec<String>,
    /// Whether boxes and keypoints are shares of the image's sides, and boxes have a centre.
    shares: bool,
}

/// Fields with one element per object: they leave together with its box.
const ALONG: &[&str] = &["labels", "area", "iscrowd", "difficult", "truncated", "segments"];

/// Boxes and keypoints follow their image, and come out in the form that they are stored in.
fn decoders(fields: &Fields, shares: bool) -> Vec<FieldDecoder> {
    let there = |name: &str| fields.iter().any(|(field, _)| **field == *name);
    let args = |args: serde_json::Value| args.as_object().cloned().unwrap_or_default();
    let mut out: Vec<FieldDecoder> = vec![];
    if there("boxes") && there(IMAGE) {
        let along: Vec<&str> = ALONG.iter().copied().filter(|name| there(name)).collect();
        let format = if shares { "cxcywh" } else { "xyxy" };
        let how = json!({
            "format": format, "relative": shares, "to": format, "to_relative": shares, "along": along, "image": IMAGE,
        });
        out.push(("boxes".into(), "boxes", args(how)));
    }
    if there("keypoints") && there(IMAGE) {
        let how = json!({"relative": shares, "to_relative": shares, "image": IMAGE});
        out.push(("keypoints".into(), "keypoints", args(how)));
    }
    if there("segments") && there(IMAGE) {
        // Polygons are JSON, which no transform moves.
        out.push(("segments".into(), "", Map::new()));
    }
    out
}

impl Parts<'_> {
    fn open(self) -> Result<Opened> {
        let about = self.notes.describe();
        if self.names.is_empty() {
            return Err(Error::argument(format!("{about} has no images to read")));
        }
        let images =
            FolderSource::below(Arc::clone(self.store), self.root, self.names.into_iter().collect())?;
        let mut fields: Fields =
            vec![(IMAGE.into(), FieldSpec::encoded()), (FILE_NAME.into(), FieldSpec::text())];
        fields.extend(self.fields);
        if let Some(wanted) = self.wanted {
            let known = |name: &String| fields.iter().any(|(field, _)| **field == **name);
            if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
                let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
                let what = format!("{about} has no field `{unknown}`; the fields are {}", names.join(", "));
                return Err(Error::argument(what));
            }
            fields.retain(|(field, _)| wanted.iter().any(|name| **name == **field));
        }
        Ok(Opened::Rows(Arc::new(AnnotatedSource {
            images,
            notes: self.notes,
            classes: self.classes,
            left_out: self.left_out,
            decoders: decoders(&fields, self.shares),
            spec: Spec { fields },
        })))
    }
}

impl Source for AnnotatedSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn shard_rows(&self) -> &[u64] {
        self.images.shard_rows()
    }

    fn shard_of(&self, row: u64) -> String {
        self.images.shard_of(row)
    }

    /// What is known of an image is part of its row: other boxes are another row.
    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let notes: Vec<Arc<str>> = fields.iter().filter(|field| &***field != IMAGE).cloned().collect();
        let mut out = self.images.stamps(rows, fields)?;
        for (stamp, row) in out.iter_mut().zip(rows) {
            let values = self.fetch(std::slice::from_ref(row), &notes).ok().and_then(|mut found| found.pop());
            *stamp = stamp.zip(values).and_then(|(stamp, record)| {
                let (mut out, mut scratch) = (Writer::default(), Scratch::new());
                record.fields.iter().try_for_each(|value| out.value(value, &mut scratch)).ok()?;
                Some(Stamp::default().wide(stamp).bytes(&out.finish().ok()?).get())
            });
        }
        Some(out)
    }

    fn key(&self, row: u64) -> String {
        self.images.key(row)
    }

    fn row_bytes(&self, row: u64, fields: &[Arc<str>]) -> u64 {
        self.images.row_bytes(row, fields).saturating_add(self.notes.bytes(row as usize))
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        let image = fields.iter().find(|field| &***field == IMAGE);
        let mut images =
            image.map(|field| self.images.fetch(rows, std::slice::from_ref(field))).transpose()?;
        let others = |name: &str| name != IMAGE && name != FILE_NAME;
        let wanted: Vec<&str> = fields.iter().map(|field| &**field).filter(|name| others(name)).collect();
        let record = |(at, row): (usize, &u64)| {
            if *row >= self.images.rows() {
                return Err(Error::argument(format!(
                    "there is no row {row}: there are {}",
                    self.images.rows()
                )));
            }
            let mut notes = if wanted.is_empty() {
                Vec::new().into_iter()
            } else {
                self.notes.values(*row as usize, &wanted)?.into_iter()
            };
            let mut value = |field: &Arc<str>| match &**field {
                IMAGE => images.as_mut().and_then(|images| images[at].fields.pop()).unwrap_or_default(),
                FILE_NAME => Value::Text(self.images.key(*row)),
                _ => notes.next().unwrap_or_default(),
            };
            Ok(Record { fields: fields.iter().map(&mut value).collect() })
        };
        rows.iter().enumerate().map(record).collect()
    }

    fn network(&self) -> Option<&'static str> {
        self.images.network()
    }

    fn room_ahead(&self) -> Option<u64> {
        self.images.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.images.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.images.forget_ahead();
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.images.caches()
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        self.images.will_fetch(rows, fields);
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn decoders(&self) -> Vec<FieldDecoder> {
        self.decoders.clone()
    }

    fn damage(&self) -> Vec<String> {
        self.left_out.clone()
    }

    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        self.images.column(name)
    }

    fn describe(&self) -> String {
        format!("{}: {} images", self.notes.describe(), self.images.rows())
    }
}

#[cfg(test)]
mod tests;
