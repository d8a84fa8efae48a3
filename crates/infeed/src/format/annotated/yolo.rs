//! YOLO: images, and a text file with the labels of each.

use super::{
    Notes, Parts,
    arguments::{EMPTY, FIELDS, MISSING, OUTSIDE, outside, skips_missing},
    files::{missing, present},
    values, yolo_files,
};
use crate::format::shared;
use infeed_annotations::{Area, Outside, YoloImage, YoloTask};
use infeed_core::{
    Args, Can, Dtype, Error, FieldSpec, FormatEntry, OpenRequest, Opened, Param, Result, Store, StoreExt,
    Value, format::Fields, parallel,
};
use std::sync::Arc;

/// The registry entry.
pub(in crate::format) const ENTRY: FormatEntry = FormatEntry {
    name: "yolo",
    about: "YOLO: images, and a text file with the labels of each",
    details: "The path is a `data.yaml` or a folder: with a `data.yaml`, with `images/train` and `labels/train`, or with \
        `train/images` and `train/labels`. Rows are sorted by name. An image without a label file has no objects. Fields: \
        `image`, `file_name`, `boxes` (float32 [n, 4]: centre x, centre y, width, height as shares of the image's sides), \
        `labels` (int64 [n]), with task=\"segment\" `segments` (JSON: a polygon of shares per object), with task=\"pose\" \
        `keypoints` (float32 [n, k, 3]: x, y as shares, visibility).",
    params: &[
        Param {
            name: "split",
            python: "str",
            default: Some("\"train\""),
            about: "the key of data.yaml, or the sub-folder, that has the images: train, val, test",
        },
        Param {
            name: "names",
            python: "Sequence[str] | None",
            default: Some("null"),
            about: "names of the classes; those of data.yaml by default. A label beyond them is an error",
        },
        Param {
            name: "task",
            python: "YoloTask",
            default: Some("\"detect\""),
            about: "what the lines of label files hold: detect (boxes; a polygon becomes the box around it), segment \
                    (polygons), or pose (boxes and keypoints)",
        },
        Param {
            name: "keypoints",
            python: "Sequence[int] | None",
            default: Some("null"),
            about: "for task=\"pose\": how many keypoints, and how many numbers each has (2 or 3); by default kpt_shape of \
                    data.yaml",
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
struct YoloNotes {
    store: Arc<dyn Store>,
    about: String,
    /// The label file of each row; empty if there is none.
    files: Vec<String>,
    task: YoloTask,
    classes: usize,
    outside: Outside,
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let (empty, skip) = (args.flag("empty")?, skips_missing(&args)?);
    let found = yolo_files::find(request, args.text("split")?)?;
    let classes = shared::names(&args, "names")?.unwrap_or(found.names);
    let task = task(&args, found.keypoints)?;
    let labels: Vec<String> = found.images.iter().map(|name| yolo_files::label_file(name)).collect();
    let has_labels = present(&**request.store, &labels)?;
    if !has_labels.contains(&true) {
        return Err(Error::NotFound {
            path: labels.first().cloned().unwrap_or_default(),
            hint: format!(
                "; none of the {} images of `{}` has a label file: labels of `images/a.jpg` are in `labels/a.txt`",
                labels.len(),
                found.about
            ),
        });
    }
    let mut left_out = Vec::new();
    let mut kept: Vec<usize> = (0..labels.len()).collect();
    // Images of a folder were found there; those of a list may be missing.
    if found.listed {
        let there = present(&**request.store, &found.images)?;
        let gone: Vec<&str> = kept.iter().filter(|at| !there[**at]).map(|at| &*found.images[*at]).collect();
        left_out.extend(missing(&found.about, &gone, skip)?);
        kept.retain(|at| there[*at]);
    }
    let file = |at: &usize| if has_labels[*at] { labels[*at].clone() } else { String::new() };
    let mut notes = YoloNotes {
        store: Arc::clone(request.store),
        about: found.about,
        files: (0..labels.len()).map(|at| file(&at)).collect(),
        task,
        classes: classes.len(),
        outside: outside(&args)?,
    };
    if !empty {
        let counts =
            parallel::map(kept.len(), request.threads, |at| Ok(notes.image(kept[at])?.classes.len()))?;
        let mut counts = counts.iter();
        kept.retain(|_| counts.next() > Some(&0));
    }
    notes.files = kept.iter().map(file).collect();
    // Rows are named from the folder that all images are in, so that states stay valid where the data is moved.
    let root = yolo_files::common_folder(&found.images);
    let start = if root.is_empty() { 0 } else { root.len() + 1 };
    Parts {
        store: request.store,
        root,
        names: kept.iter().map(|at| &found.images[*at][start..]).collect(),
        notes: Box::new(notes),
        fields: fields(task),
        wanted: shared::names(&args, "fields")?,
        classes,
        left_out,
        shares: true,
    }
    .open()
}

fn task(args: &Args, stated: Option<(usize, usize)>) -> Result<YoloTask> {
    let given = if args.is_none("keypoints") { None } else { Some(args.ints("keypoints", 1)?) };
    let shape = match given.as_deref() {
        None => stated,
        Some([count @ 1..=10_000, width @ 2..=3]) => Some((*count as usize, *width as usize)),
        Some(_) => return Err(args.error("keypoints", "must be how many keypoints, and 2 or 3")),
    };
    match (args.text("task")?, shape) {
        ("detect", _) => Ok(YoloTask::Detect),
        ("segment", _) => Ok(YoloTask::Segment),
        ("pose", Some((count, width))) => Ok(YoloTask::Pose { count, width }),
        ("pose", None) => {
            Err(args.error("keypoints", "must be given for task=\"pose\", as data.yaml has no kpt_shape"))
        }
        _ => Err(args.error("task", "must be detect, segment or pose")),
    }
}

fn fields(task: YoloTask) -> Fields {
    let mut fields: Fields =
        vec![("boxes".into(), values::boxes_spec()), ("labels".into(), values::numbers_spec(Dtype::I64))];
    match task {
        YoloTask::Detect => {}
        YoloTask::Segment => fields.push(("segments".into(), FieldSpec::json())),
        YoloTask::Pose { count, .. } => fields.push(("keypoints".into(), values::keypoints_spec(count))),
    }
    fields
}

impl YoloNotes {
    fn image(&self, at: usize) -> Result<YoloImage> {
        let name = self.files.get(at).map_or("", String::as_str);
        if name.is_empty() {
            return Ok(YoloImage::default());
        }
        let bytes = self.store.read_all(&self.store.stat_one(name)?)?;
        YoloImage::parse(&bytes, self.task, self.classes).map_err(|e| Error::sample(format!("`{name}`: {e}")))
    }

    /// Boxes as the file states them, unless they had to be cut.
    fn boxes(&self, row: usize, image: &YoloImage) -> Result<Value> {
        let one = |(at, (stated, corners)): (usize, (&[f32; 4], &[f32; 4]))| {
            let settled = Area::shares().settle(*corners, self.outside);
            let settled = settled
                .map_err(|what| Error::sample(format!("object {at} of `{}`: {what}", self.files[row])))?;
            if settled == *corners {
                return Ok(*stated);
            }
            let [x1, y1, x2, y2] = settled;
            Ok([(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1])
        };
        let all = image.boxes.iter().zip(&image.corners).enumerate();
        values::boxes(&all.map(one).collect::<Result<Vec<_>>>()?)
    }
}

impl Notes for YoloNotes {
    fn values(&self, row: usize, fields: &[&str]) -> Result<Vec<Value>> {
        let image = self.image(row)?;
        let value = |field: &&str| match (*field, self.task) {
            ("boxes", _) => self.boxes(row, &image),
            ("labels", _) => values::labels(&image.classes),
            ("segments", _) => values::json(&image.polygons),
            ("keypoints", YoloTask::Pose { count, .. }) => {
                let objects: Vec<&[f32]> = image.keypoints.chunks_exact(count * 3).collect();
                values::keypoints(count, &objects)
            }
            _ => Ok(Value::Missing),
        };
        fields.iter().map(value).collect()
    }

    fn bytes(&self, _: usize) -> u64 {
        1024
    }

    fn describe(&self) -> String {
        format!("YOLO data `{}`", self.about)
    }
}
