//! The segmentations of one image as pixels.
//!
//! Between reading and decoding they are JSON: `{"file": "...", "size": [height, width], "ids": [...], "segmentations": [...]}`,
//! with segmentations as COCO writes them, and the name of their file for messages. So pixels are made by the worker that decodes the sample, and only if they are wanted.

mod polygon;
mod rle;

use infeed_core::{Error, Result, memory};
use serde::Deserialize;
use serde_json::value::RawValue;

/// What one annotation covers.
#[derive(Debug, Clone, PartialEq)]
enum Segmentation {
    /// The union of polygons, each x, y, x, y, and so on.
    Polygons(Vec<Vec<f64>>),
    /// Run lengths, column by column.
    Runs(Vec<u64>),
}

/// The segmentations of one image.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceMasks {
    height: u32,
    width: u32,
    /// Where they come from; empty if nobody said.
    file: String,
    /// The annotation's id and what it covers.
    items: Vec<(i64, Segmentation)>,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    file: String,
    size: [u32; 2],
    ids: Vec<i64>,
    #[serde(borrow)]
    segmentations: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawRuns<'a> {
    size: [u32; 2],
    #[serde(borrow)]
    counts: &'a RawValue,
}

/// Writes the segmentations of an image for [`InstanceMasks::parse`]. Each has the id of its annotation, and its JSON
/// text, which is empty if the annotation has no segmentation; `file` is named in messages.
pub fn write_masks(file: &str, height: u32, width: u32, items: &[(i64, &[u8])]) -> Result<Vec<u8>> {
    let file = serde_json::Value::from(file);
    let ids: Vec<String> = items.iter().map(|(id, _)| id.to_string()).collect();
    let head = format!(
        "{{\"file\":{file},\"size\":[{height},{width}],\"ids\":[{}],\"segmentations\":[",
        ids.join(",")
    );
    let length: usize = items.iter().map(|(_, text)| text.len().max(4) + 1).sum();
    let mut out = memory::with_capacity(head.len() + length + 2)?;
    out.extend_from_slice(head.as_bytes());
    for (at, (_, text)) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(if text.is_empty() { b"null" } else { text });
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

impl InstanceMasks {
    /// Reads what [`write_masks`] wrote.
    pub fn parse(bytes: &[u8]) -> Result<InstanceMasks> {
        let raw: Raw<'_> = serde_json::from_slice(bytes).map_err(|e| {
            Error::sample(format!("segmentations must be {{\"size\", \"ids\", \"segmentations\"}}: {e}"))
        })?;
        let [height, width] = raw.size;
        if raw.ids.len() != raw.segmentations.len() {
            return Err(Error::sample(format!(
                "{} segmentations have {} ids",
                raw.segmentations.len(),
                raw.ids.len()
            )));
        }
        if (height == 0 || width == 0) && !raw.ids.is_empty() {
            return Err(Error::sample(format!(
                "the image has the size {height} x {width}, so its {} segmentations cannot be drawn; the annotation \
                 file must have `height` and `width` for each image",
                raw.ids.len()
            )));
        }
        let one = |(id, text): (&i64, &&RawValue)| {
            let item = segmentation(text.get(), height, width);
            item.map(|item| (*id, item)).map_err(|what| wrong(&raw.file, *id, &what))
        };
        let items = raw.ids.iter().zip(&raw.segmentations).map(one).collect::<Result<_>>()?;
        Ok(InstanceMasks { height, width, items, file: raw.file })
    }

    /// Returns how many masks there are, their height and their width.
    pub fn shape(&self) -> [usize; 3] {
        [self.items.len(), self.height as usize, self.width as usize]
    }

    /// Returns the bytes of all masks.
    pub fn bytes(&self) -> u64 {
        let [count, height, width] = self.shape().map(|n| n as u64);
        count.saturating_mul(height).saturating_mul(width)
    }

    /// Draws all masks, one after the other, row by row: 1 inside, 0 outside. `out` holds zeros, [`InstanceMasks::bytes`]
    /// of them.
    pub fn draw(&self, out: &mut [u8]) -> Result<()> {
        if out.len() as u64 != self.bytes() {
            return Err(Error::Internal { what: format!("{} bytes for masks", out.len()) });
        }
        let pixels = u64::from(self.height) * u64::from(self.width);
        if pixels == 0 {
            return Ok(());
        }
        for ((id, item), mask) in self.items.iter().zip(out.chunks_exact_mut(pixels as usize)) {
            match item {
                Segmentation::Runs(counts) => rle::ones(counts).for_each(|run| self.fill(run, mask)),
                Segmentation::Polygons(polygons) => {
                    for points in polygons {
                        let found = polygon::crossings(points, self.height, self.width);
                        let found = found.map_err(|what| wrong(&self.file, *id, &what))?;
                        polygon::inside(&found, pixels).for_each(|run| self.fill(run, mask));
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets a run of pixels, which are numbered column by column, in a mask that is stored row by row.
    fn fill(&self, (start, end): (u64, u64), mask: &mut [u8]) {
        let (height, width) = (self.height as usize, self.width as usize);
        let (mut at, end) = (start as usize, end as usize);
        while at < end {
            let (column, top) = (at / height, at % height);
            let bottom = (top + end - at).min(height);
            let rows = mask.chunks_exact_mut(width).skip(top).take(bottom - top);
            rows.for_each(|row| row[column] = 1);
            at += bottom - top;
        }
    }
}

/// An error about a segmentation.
fn wrong(file: &str, id: i64, what: &str) -> Error {
    let place = if file.is_empty() { String::new() } else { format!(" in `{file}`") };
    Error::sample(format!("the segmentation of annotation {id}{place}: {what}"))
}

/// Reads one segmentation of an image of this size.
fn segmentation(text: &str, height: u32, width: u32) -> Result<Segmentation, String> {
    let other = |e: serde_json::Error| format!("neither a list of polygons nor run lengths: {e}");
    if text == "null" {
        return Err("there is none".to_owned());
    }
    if text.starts_with('[') {
        let polygons: Vec<Vec<f64>> = serde_json::from_str(text).map_err(other)?;
        if polygons.is_empty() {
            return Err("the list of polygons is empty".to_owned());
        }
        return Ok(Segmentation::Polygons(polygons));
    }
    let runs: RawRuns<'_> = serde_json::from_str(text).map_err(other)?;
    if runs.size != [height, width] {
        let [h, w] = runs.size;
        return Err(format!(
            "it is for an image of {h} x {w} (height x width), the image has {height} x {width}"
        ));
    }
    let counts = runs.counts.get();
    let counts = if counts.starts_with('"') {
        let text: String = serde_json::from_str(counts).map_err(other)?;
        rle::decompress(&text)?
    } else {
        serde_json::from_str(counts).map_err(other)?
    };
    rle::check(&counts, height, width)?;
    Ok(Segmentation::Runs(counts))
}

#[cfg(test)]
mod tests;
