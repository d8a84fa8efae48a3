//! Pascal VOC: images, an XML file for each, and lists of the images of a split.

use super::{
    Notes, Parts,
    arguments::{EMPTY, FIELDS, MISSING, OUTSIDE, outside, skips_missing},
    files::{join, missing, present, stays_below},
    values,
};
use crate::format::{
    paths::{Places, one_folder},
    shared,
};
use infeed_annotations::{Area, Outside, VOC_CLASSES, VocImage, VocObject};
use infeed_core::{
    Can, Dtype, Error, FormatEntry, OpenRequest, Opened, Param, Result, Store, StoreExt, Value, parallel,
};
use std::{collections::HashMap, sync::Arc};

/// The registry entry.
pub(in crate::format) const ENTRY: FormatEntry = FormatEntry {
    name: "voc",
    about: "Pascal VOC: images, an XML file for each, and a list of those of a split",
    details: "The folder is the one with `JPEGImages`, `Annotations` and `ImageSets/Main`. Rows are the images of the split, in \
        the order of its list. Fields: `image`, `file_name`, `boxes` (float32 [n, 4]: xmin, ymin, xmax, ymax in pixels as \
        the files state them, counted from 1), `labels` (int64 [n]), `difficult` and `truncated` (uint8 [n]).",
    params: &[
        Param {
            name: "split",
            python: "str",
            default: Some("\"train\""),
            about: "the list in ImageSets/Main that names the images: train, val, trainval, test",
        },
        Param {
            name: "classes",
            python: "Sequence[str] | None",
            default: Some("null"),
            about: "names of the classes, which labels number from 0; the 20 of Pascal VOC by default",
        },
        Param {
            name: "difficult",
            python: "bool",
            default: Some("true"),
            about: "keep objects marked as difficult",
        },
        Param {
            name: "zero_based",
            python: "bool",
            default: Some("false"),
            about: "subtract 1 from the coordinates, which VOC counts from 1",
        },
        EMPTY,
        MISSING,
        OUTSIDE,
        FIELDS,
    ],
    endings: &[],
    magic: &[],
    can: Can { many: false, ..Can::ROWS },
    recognise: Some(|_| None),
    recognise_folder: Some(|_| Ok(None)),
    open,
};

#[derive(Debug)]
struct VocNotes {
    store: Arc<dyn Store>,
    /// The list of the split.
    list: String,
    /// The annotation of each row.
    files: Vec<String>,
    numbers: HashMap<String, i64>,
    difficult: bool,
    zero_based: bool,
    outside: Outside,
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let (empty, skip) = (args.flag("empty")?, skips_missing(&args)?);
    let Places::Folder(root) = one_folder(request)? else {
        return Err(Error::argument(format!("`{}` is not a folder", request.paths.join(", "))));
    };
    let split = args.text("split")?;
    if !stays_below(split) {
        return Err(args.error("split", "must be the name of a list in ImageSets/Main"));
    }
    let list = join(&root, &format!("ImageSets/Main/{split}.txt"));
    let ids = read_list(&**request.store, &list)?;
    let folder = join(&root, "JPEGImages");
    let images: Vec<String> = ids.iter().map(|id| format!("{id}.jpg")).collect();
    let files: Vec<String> = ids.iter().map(|id| join(&root, &format!("Annotations/{id}.xml"))).collect();
    let full: Vec<String> = images.iter().map(|name| join(&folder, name)).collect();
    let there = present(&**request.store, &[full.clone(), files.clone()].concat())?;
    let (has_image, has_file) = there.split_at(ids.len());
    let gone: Vec<&str> =
        full.iter().chain(&files).zip(&there).filter(|(_, t)| !**t).map(|(n, _)| &**n).collect();
    let left_out = missing(&list, &gone, skip)?.into_iter().collect();
    let classes = shared::names(&args, "classes")?.unwrap_or_else(|| VOC_CLASSES.map(str::to_owned).to_vec());
    let mut notes = VocNotes {
        store: Arc::clone(request.store),
        list,
        files,
        numbers: classes.iter().cloned().zip(0..).collect(),
        difficult: args.flag("difficult")?,
        zero_based: args.flag("zero_based")?,
        outside: outside(&args)?,
    };
    let mut kept: Vec<usize> = (0..ids.len()).filter(|at| has_image[*at] && has_file[*at]).collect();
    if !empty {
        let found = parallel::map(kept.len(), request.threads, |at| notes.objects(kept[at]))?;
        let mut found = found.iter();
        kept.retain(|_| found.next().is_some_and(|(_, objects)| !objects.is_empty()));
    }
    notes.files = kept.iter().map(|at| notes.files[*at].clone()).collect();
    Parts {
        store: request.store,
        root: &folder,
        names: kept.iter().map(|at| &*images[*at]).collect(),
        notes: Box::new(notes),
        fields: vec![
            ("boxes".into(), values::boxes_spec()),
            ("labels".into(), values::numbers_spec(Dtype::I64)),
            ("difficult".into(), values::numbers_spec(Dtype::U8)),
            ("truncated".into(), values::numbers_spec(Dtype::U8)),
        ],
        wanted: shared::names(&args, "fields")?,
        classes,
        left_out,
        shares: false,
    }
    .open()
}

/// Reads the names of the images of a split. Lists for one class have a second column, which is not needed.
fn read_list(store: &dyn Store, list: &str) -> Result<Vec<String>> {
    let file = store.stat_one(list).map_err(|e| match e {
        Error::NotFound { path, .. } => Error::NotFound {
            path,
            hint: "; give the folder with JPEGImages, Annotations and ImageSets (VOCdevkit/VOC2012), and the name of a \
                   list in ImageSets/Main as split="
                .to_owned(),
        },
        other => other,
    })?;
    let bytes = store.read_all(&file)?;
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Error::argument(format!("`{list}` is not UTF-8 text")))?;
    let ids: Vec<String> =
        text.lines().filter_map(|line| line.split_ascii_whitespace().next()).map(str::to_owned).collect();
    match ids.iter().enumerate().find(|(_, id)| !stays_below(id)) {
        Some((at, id)) => {
            Err(Error::argument(format!("`{list}`, name {}: `{id}` is not the name of an image", at + 1)))
        }
        None => Ok(ids),
    }
}

impl VocNotes {
    /// The objects of an image that are wanted, and the area they should lie in.
    fn objects(&self, at: usize) -> Result<(Area, Vec<VocObject>)> {
        let name = self.files.get(at).map_or("", String::as_str);
        let bytes = self.store.read_all(&self.store.stat_one(name)?)?;
        let image = VocImage::parse(&bytes).map_err(|e| Error::sample(format!("`{name}`: {e}")))?;
        let mut objects = image.objects;
        objects.retain(|object| self.difficult || !object.difficult);
        Ok((Area::pixels(image.width, image.height), objects))
    }

    fn corners(&self, area: Area, object: &VocObject) -> Result<[f32; 4], String> {
        let shift = if self.zero_based { 1.0 } else { 0.0 };
        area.settle(object.corners.map(|value| value - shift), self.outside)
    }

    fn label(&self, object: &VocObject) -> Result<i64, String> {
        let number = self.numbers.get(&object.name).copied();
        number.ok_or_else(|| "its class is unknown; give the names of all classes as classes=".to_owned())
    }
}

impl Notes for VocNotes {
    fn values(&self, row: usize, fields: &[&str]) -> Result<Vec<Value>> {
        let (area, objects) = self.objects(row)?;
        let wrong = |(at, object): (usize, &VocObject), what: String| {
            Error::sample(format!("object {at} (`{}`) of `{}`: {what}", object.name, self.files[row]))
        };
        let value = |field: &&str| match *field {
            "boxes" => {
                let one = |item: (usize, &VocObject)| self.corners(area, item.1).map_err(|e| wrong(item, e));
                values::boxes(&objects.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?)
            }
            "labels" => {
                let one = |item: (usize, &VocObject)| self.label(item.1).map_err(|e| wrong(item, e));
                values::labels(&objects.iter().enumerate().map(one).collect::<Result<Vec<_>>>()?)
            }
            "difficult" => values::flags(objects.iter().map(|object| object.difficult)),
            "truncated" => values::flags(objects.iter().map(|object| object.truncated)),
            _ => Ok(Value::Missing),
        };
        fields.iter().map(value).collect()
    }

    fn bytes(&self, _: usize) -> u64 {
        1024
    }

    fn describe(&self) -> String {
        format!("Pascal VOC `{}`", self.list)
    }
}
