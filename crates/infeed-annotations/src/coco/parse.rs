//! Reads the JSON into columns, list by list, without building it in memory.

use super::{
    Category, Coco, Columns, NO_CATEGORY,
    raw::{RawCategory, RawImage, RawNote, Whole},
    wrong,
};
use infeed_core::{Error, Result};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::{borrow::Cow, fmt, marker::PhantomData};

pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Coco> {
    let text = std::str::from_utf8(bytes).map_err(|e| Error::Format {
        shard: name.to_owned(),
        offset: e.valid_up_to() as u64,
        what: "annotations must be UTF-8 text".to_owned(),
    })?;
    let mut reading = Reading { text, coco: Coco::default(), images: false, notes: false };
    // Windows tools write a byte order mark, which JSON parsers refuse.
    let mut json = serde_json::Deserializer::from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    let read = json.deserialize_map(Top(&mut reading)).and_then(|()| json.end());
    read.map_err(|e| refused(name, text, &e))?;
    if !reading.images {
        return Err(wrong(name, "there is no list `images`; is this a file in COCO's format?"));
    }
    if !reading.notes {
        let what =
            "there is no list `annotations`; files for tests have none: read their images with infeed.files";
        return Err(wrong(name, what));
    }
    Ok(reading.coco)
}

/// The error for text that is not what it should be.
fn refused(name: &str, text: &str, e: &serde_json::Error) -> Error {
    let before: usize = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum();
    let offset = before + e.column().saturating_sub(1);
    let rest = text.as_bytes().get(offset..).unwrap_or_default();
    let not_json = [&b"NaN"[..], b"Infinity", b"-Infinity"]
        .iter()
        .any(|word| rest.starts_with(&word[1..]) || rest.starts_with(word));
    let what = match e.classify() {
        serde_json::error::Category::Eof => format!("the JSON ends early: {e}; was it copied completely?"),
        _ if not_json => format!("{e}; NaN and Infinity are not JSON, and no value of an annotation"),
        _ => e.to_string(),
    };
    Error::Format { shard: name.to_owned(), offset: offset as u64, what }
}

struct Reading<'a> {
    text: &'a str,
    coco: Coco,
    images: bool,
    notes: bool,
}

/// The object that is the file.
struct Top<'r, 'a>(&'r mut Reading<'a>);

impl<'a> Visitor<'a> for Top<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the lists `images`, `annotations` and `categories`")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let reading = self.0;
        while let Some(key) = map.next_key::<Cow<'a, str>>()? {
            let twice = |seen: bool| {
                if seen { Err(de::Error::custom(format!("`{key}` is there twice"))) } else { Ok(()) }
            };
            match &*key {
                "images" => {
                    twice(std::mem::replace(&mut reading.images, true))?;
                    map.next_value_seed(List::new(&key, |at, image: RawImage<'a>| {
                        add_image(&mut reading.coco, at, image)
                    }))?;
                }
                "annotations" => {
                    twice(std::mem::replace(&mut reading.notes, true))?;
                    let (text, columns) = (reading.text, &mut reading.coco.notes);
                    map.next_value_seed(List::new(&key, |at, note: RawNote<'a>| {
                        add_note(columns, text, at, note)
                    }))?;
                }
                "categories" => {
                    twice(reading.coco.categories.is_some())?;
                    let list = reading.coco.categories.insert(Vec::new());
                    map.next_value_seed(List::new(&key, |at, category: RawCategory| {
                        add_category(list, at, category)
                    }))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// A list whose items are handed on one by one. Errors name the item.
struct List<'k, T, F> {
    key: &'k str,
    add: F,
    item: PhantomData<T>,
}

impl<'k, T, F: FnMut(usize, T) -> Result<(), String>> List<'k, T, F> {
    fn new(key: &'k str, add: F) -> Self {
        List { key, add, item: PhantomData }
    }
}

impl<'a, T: Deserialize<'a>, F: FnMut(usize, T) -> Result<(), String>> DeserializeSeed<'a>
    for List<'_, T, F>
{
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'a, T: Deserialize<'a>, F: FnMut(usize, T) -> Result<(), String>> Visitor<'a> for List<'_, T, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list for `{}`", self.key)
    }

    fn visit_seq<S: SeqAccess<'a>>(mut self, mut items: S) -> Result<(), S::Error> {
        let mut at = 0;
        loop {
            let wrong = |what: &dyn fmt::Display| de::Error::custom(format!("{}[{at}]: {what}", self.key));
            match items.next_element::<T>() {
                Ok(Some(item)) => (self.add)(at, item).map_err(|what| wrong(&what))?,
                Ok(None) => return Ok(()),
                // An early end stays what it is: that the item is incomplete would say less.
                Err(e) if e.to_string().contains("EOF while parsing") => return Err(e),
                Err(e) => return Err(wrong(&e)),
            }
            at += 1;
        }
    }
}

fn add_image(coco: &mut Coco, _: usize, image: RawImage<'_>) -> Result<(), String> {
    let Whole(id) = image.id.ok_or("the image has no `id`")?;
    let name = image.file_name.ok_or_else(|| format!("image {id} has no `file_name`"))?;
    let side = |side: Option<Whole>, what: &str| match side {
        None => Ok(0),
        Some(Whole(n)) => u32::try_from(n).map_err(|_| format!("image {id} has the {what} {n}")),
    };
    let size = [side(image.height, "height")?, side(image.width, "width")?];
    coco.image_ids.push(id);
    coco.image_names.push(&name);
    coco.image_sizes.push(size);
    Ok(())
}

fn add_category(list: &mut Vec<Category>, _: usize, category: RawCategory) -> Result<(), String> {
    let Whole(id) = category.id.ok_or("the category has no `id`")?;
    let name = category.name.ok_or_else(|| format!("category {id} has no `name`"))?;
    list.push(Category { id, name });
    Ok(())
}

fn add_note(columns: &mut Columns, text: &str, at: usize, note: RawNote<'_>) -> Result<(), String> {
    let Whole(id) = note.id.ok_or("the annotation has no `id`")?;
    let Whole(image) = note.image_id.ok_or_else(|| format!("annotation {id} has no `image_id`"))?;
    if u32::try_from(at).is_err() {
        return Err("there are more than 2^32 annotations".to_owned());
    }
    let has = &mut columns.has;
    has.category |= note.category_id.is_some();
    has.boxes |= note.bbox.is_some();
    has.area |= note.area.is_some();
    has.crowd |= note.iscrowd.is_some();
    has.segmentation |= note.segmentation.is_some();
    has.keypoints |= note.keypoints.is_some();
    has.caption |= note.caption.is_some();
    let corners = match note.bbox.as_deref() {
        None => [f32::NAN; 4],
        Some([x, y, width, height]) => [*x, *y, x + width, y + height].map(|value| value as f32),
        Some(other) => {
            return Err(format!(
                "the bbox of annotation {id} has {} numbers: it must be [x, y, width, height]",
                other.len()
            ));
        }
    };
    let crowd = match note.iscrowd {
        None | Some(Whole(0)) => false,
        Some(Whole(1)) => true,
        Some(Whole(other)) => return Err(format!("annotation {id} has iscrowd {other}: it must be 0 or 1")),
    };
    let keypoints = note.keypoints.unwrap_or_default();
    if !keypoints.len().is_multiple_of(3) {
        return Err(format!(
            "annotation {id} has {} numbers for keypoints: each has x, y and visibility",
            keypoints.len()
        ));
    }
    let segmentation = match note.segmentation {
        None => (0, 0),
        Some(raw) => {
            // The text is a slice of the file: its address says where.
            let start = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            let length = u32::try_from(raw.get().len());
            (
                start as u64,
                length
                    .map_err(|_| format!("the segmentation of annotation {id} has more than 2^32 bytes"))?,
            )
        }
    };
    columns.ids.push(id);
    columns.images.push(image);
    columns.categories.push(note.category_id.map_or(NO_CATEGORY, |Whole(id)| id));
    columns.boxes.push(corners);
    columns.areas.push(note.area.map_or(f32::NAN, |area| area as f32));
    columns.crowd.push(crowd);
    columns.segmentations.push(segmentation);
    columns.keypoints.extend(keypoints.iter().map(|value| *value as f32));
    columns.keypoint_ends.push(columns.keypoints.len() as u64);
    columns.captions.push(note.caption.as_deref().unwrap_or_default());
    Ok(())
}
