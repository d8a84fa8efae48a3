//! COCO: a folder of images and a JSON file.

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
use infeed_annotations::{Area, Coco, Note, Outside, write_masks};
use infeed_core::{
    Bytes, Can, Dtype, Error, FieldSpec, FormatEntry, OpenRequest, Opened, Param, Result, Shard, Store,
    StoreExt, Tensor, Value, format::Fields,
};
use std::{ops::Range, sync::Arc};

/// The registry entry.
pub(in crate::format) const ENTRY: FormatEntry = FormatEntry {
    name: "coco",
    about: "images with the annotations of a COCO JSON file",
    details: "Rows are the images of the file, in its order. Fields, as far as the file has them: `image`, `file_name`, \
        `image_id`, `boxes` (float32 [n, 4]: x1, y1, x2, y2 in pixels), `labels` (int64 [n]), `area`, `iscrowd`, `keypoints` \
        (float32 [n, k, 3]: x, y, visibility), `masks` (decode with `instance_masks`) and `captions` (JSON). Boxes that are \
        not inside their image and other wrong values make a bad sample; ids that do not fit together are errors at opening.",
    params: &[
        Param {
            name: "annotations",
            python: "str | os.PathLike[str]",
            default: None,
            about: "the JSON file: instances, person_keypoints or captions",
        },
        Param {
            name: "labels",
            python: "CocoLabels",
            default: Some("\"category\""),
            about: "what labels are: category (the ids of the file, which have gaps), or contiguous (0 to n - 1, in the \
                    order of the ids)",
        },
        Param {
            name: "crowd",
            python: "bool",
            default: Some("true"),
            about: "keep annotations that stand for a crowd",
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

/// Category ids beyond this are not turned into a list of names.
const MOST_NAMES: i64 = 100_000;

#[derive(Debug)]
struct CocoNotes {
    store: Arc<dyn Store>,
    file: Shard,
    coco: Coco,
    /// The image of each row.
    images: Vec<u32>,
    contiguous: bool,
    outside: Outside,
    keypoints: usize,
}

fn open(request: &OpenRequest<'_>) -> Result<Opened> {
    let args = request.args()?;
    let contiguous = match args.text("labels")? {
        "category" => false,
        "contiguous" => true,
        _ => return Err(args.error("labels", "must be category or contiguous")),
    };
    let (empty, skip) = (args.flag("empty")?, skips_missing(&args)?);
    let Places::Folder(root) = one_folder(request)? else {
        return Err(Error::argument(format!(
            "`{}` is not a folder: give the folder of the images first, then the JSON file",
            request.paths.join(", ")
        )));
    };
    let name = args.text("annotations")?;
    let file = request.store.stat_one(name)?;
    let coco = Coco::parse(name, &request.store.read_all(&file)?, args.flag("crowd")?)?;
    if contiguous && coco.has_categories() && coco.categories().is_empty() {
        return Err(args.error("labels", "needs the list `categories`, which the file does not have"));
    }
    let mut left_out = Vec::new();
    if let Some(first) = coco.strays().first() {
        let what = format!(
            "annotations `{name}`: {} annotations are of images that the file does not list, the first has the id {first}",
            coco.strays().len()
        );
        if !skip {
            return Err(Error::argument(format!("{what}; give missing=\"skip\" to leave them out")));
        }
        left_out.push(what);
    }
    let mut images: Vec<u32> = (0..coco.images() as u32).collect();
    images.retain(|image| empty || coco.count(*image as usize) > 0);
    let image_name = |image: &u32| coco.image_name(*image as usize);
    if let Some(out) = images.iter().find(|image| !stays_below(image_name(image))) {
        return Err(Error::argument(format!(
            "annotations `{name}`: image {} has the file_name `{}`: names must be relative to the folder of the images",
            coco.image_id(*out as usize),
            image_name(out)
        )));
    }
    let names: Vec<String> = images.iter().map(|image| join(&root, image_name(image))).collect();
    let there = present(&**request.store, &names)?;
    let gone: Vec<&str> =
        names.iter().zip(&there).filter(|(_, there)| !**there).map(|(name, _)| &**name).collect();
    left_out.extend(missing(name, &gone, skip)?);
    let mut there = there.iter();
    images.retain(|_| there.next() == Some(&true));
    let names: Vec<String> = images.iter().map(|image| image_name(image).to_owned()).collect();
    let (fields, classes) = (fields(&coco), classes(&coco, contiguous));
    let keypoints = coco.keypoints();
    let outside = outside(&args)?;
    let notes =
        CocoNotes { store: Arc::clone(request.store), file, coco, images, contiguous, outside, keypoints };
    let wanted = shared::names(&args, "fields")?;
    Parts {
        store: request.store,
        root: &root,
        names: names.iter().map(String::as_str).collect(),
        notes: Box::new(notes),
        fields,
        wanted,
        classes,
        left_out,
        shares: false,
    }
    .open()
}

/// The fields that the file has.
fn fields(coco: &Coco) -> Fields {
    let all = [
        ("image_id", true, FieldSpec::scalar(Dtype::I64)),
        ("boxes", coco.has_boxes(), values::boxes_spec()),
        ("labels", coco.has_categories(), values::numbers_spec(Dtype::I64)),
        ("area", coco.has_areas(), values::numbers_spec(Dtype::F32)),
        ("iscrowd", coco.has_crowds(), values::numbers_spec(Dtype::U8)),
        ("keypoints", coco.keypoints() > 0, values::keypoints_spec(coco.keypoints())),
        ("masks", coco.has_segmentations(), FieldSpec::encoded()),
        ("captions", coco.has_captions(), FieldSpec::json()),
    ];
    all.into_iter().filter(|(_, has, _)| *has).map(|(name, _, spec)| (name.into(), spec)).collect()
}

/// Names such that the name of a label stands at its number; ids that no category has get an empty name.
fn classes(coco: &Coco, contiguous: bool) -> Vec<String> {
    let categories = coco.categories();
    if contiguous {
        return categories.iter().map(|category| category.name.clone()).collect();
    }
    let (Some(first), Some(last)) = (categories.first(), categories.last()) else { return Vec::new() };
    if first.id < 0 || last.id > MOST_NAMES {
        return Vec::new();
    }
    let mut names = vec![String::new(); last.id as usize + 1];
    categories.iter().for_each(|category| names[category.id as usize].clone_from(&category.name));
    names
}

impl CocoNotes {
    fn image(&self, row: usize) -> usize {
        self.images.get(row).map_or(usize::MAX, |image| *image as usize)
    }

    /// An error about an annotation.
    fn wrong(&self, image: usize, id: i64, what: &str) -> Error {
        let (file, list) = (self.coco.image_name(image), &self.file.name);
        Error::sample(format!("annotation {id} of image `{file}` in `{list}`: {what}"))
    }

    /// Collects what every annotation of an image must have.
    fn each<T>(&self, image: usize, value: impl Fn(&Note<'_>) -> Result<T, String>) -> Result<Vec<T>> {
        let one = |note: Note<'_>| value(&note).map_err(|what| self.wrong(image, note.id, &what));
        self.coco.notes(image).map(one).collect()
    }

    fn boxes(&self, image: usize) -> Result<Value> {
        let [height, width] = self.coco.image_size(image);
        let area = Area::pixels(width, height);
        let corners = self.each(image, |note| {
            let corners = note.corners.ok_or("it has no `bbox`, although others have")?;
            area.settle(corners, self.outside)
        })?;
        values::boxes(&corners)
    }

    fn labels(&self, image: usize) -> Result<Value> {
        let labels = self.each(image, |note| {
            let id = note.category.ok_or("it has no `category_id`, although others have")?;
            if !self.contiguous {
                return Ok(id);
            }
            let place = self.coco.place_of_category(id);
            place.map(|place| place as i64).ok_or_else(|| format!("there is no category {id}"))
        })?;
        values::labels(&labels)
    }

    fn area(&self, image: usize) -> Result<Value> {
        let areas = self.each(image, |note| {
            let area = note.area.ok_or("it has no `area`, although others have")?;
            if area.is_finite() && area >= 0.0 { Ok(area) } else { Err(format!("its area is {area}")) }
        })?;
        values::floats(&areas)
    }

    fn keypoints(&self, image: usize) -> Result<Value> {
        self.each(image, |note| match note.keypoints.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(format!("it has the keypoint coordinate {value}")),
            None => Ok(()),
        })?;
        let points: Vec<&[f32]> = self.coco.notes(image).map(|note| note.keypoints).collect();
        values::keypoints(self.keypoints, &points)
    }

    /// Reads the segmentations, which are still in the file.
    fn masks(&self, image: usize) -> Result<Value> {
        let notes: Vec<Note<'_>> = self.coco.notes(image).collect();
        let ranges: Vec<Range<u64>> = notes.iter().filter_map(|note| note.segmentation.clone()).collect();
        let texts = if ranges.is_empty() { Vec::new() } else { self.store.read(&self.file, &ranges)? };
        let mut texts = texts.iter();
        let text = |note: &Note<'_>| {
            note.segmentation.as_ref().and_then(|_| texts.next()).map_or(&[][..], |text| &text[..])
        };
        let ids: Vec<i64> = notes.iter().map(|note| note.id).collect();
        let items: Vec<(i64, &[u8])> = ids.into_iter().zip(notes.iter().map(text)).collect();
        let [height, width] = self.coco.image_size(image);
        Ok(Value::Bytes(Bytes::from(write_masks(&self.file.name, height, width, &items)?)))
    }
}

impl Notes for CocoNotes {
    fn values(&self, row: usize, fields: &[&str]) -> Result<Vec<Value>> {
        let image = self.image(row);
        let value = |field: &&str| match *field {
            "image_id" => Ok(Value::Tensor(Tensor::int(self.coco.image_id(image)))),
            "boxes" => self.boxes(image),
            "labels" => self.labels(image),
            "area" => self.area(image),
            "iscrowd" => {
                let crowd: Vec<bool> = self.coco.notes(image).map(|note| note.crowd).collect();
                values::flags(crowd.into_iter())
            }
            "keypoints" => self.keypoints(image),
            "masks" => self.masks(image),
            "captions" => values::json(&self.coco.notes(image).map(|note| note.caption).collect::<Vec<_>>()),
            _ => Ok(Value::Missing),
        };
        fields.iter().map(value).collect()
    }

    fn bytes(&self, row: usize) -> u64 {
        let each = 64 + self.keypoints as u64 * 12;
        let text = |note: Note<'_>| note.segmentation.map_or(0, |place| place.end - place.start);
        self.coco.notes(self.image(row)).map(|note| each + text(note)).sum()
    }

    fn describe(&self) -> String {
        format!("COCO annotations `{}`", self.file.name)
    }
}
