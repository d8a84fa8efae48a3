//! YOLO: one text file per image, a line per object, and a `data.yaml` that describes the data set.

use crate::yaml::{self, Yaml};
use infeed_core::{Error, Result};

/// What the lines of label files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YoloTask {
    /// `class cx cy w h`. The line of a polygon is read as the box around it.
    Detect,
    /// `class x1 y1 x2 y2 x3 y3 ...`.
    Segment,
    /// `class cx cy w h` and so many keypoints of so many numbers: `x y` or `x y visibility`.
    Pose {
        /// Keypoints of an object.
        count: usize,
        /// Numbers of a keypoint, 2 or 3.
        width: usize,
    },
}

/// The labels of one image. All coordinates are shares of the image's sides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct YoloImage {
    /// The number of each object's class.
    pub classes: Vec<i64>,
    /// Corners of each object's box: x1, y1, x2, y2.
    pub corners: Vec<[f32; 4]>,
    /// Centre and size of each object's box as the file states them, or those of the box around the polygon.
    pub boxes: Vec<[f32; 4]>,
    /// The polygon of each object, if polygons were asked for.
    pub polygons: Vec<Vec<f32>>,
    /// x, y and visibility of the keypoints of all objects, if keypoints were asked for.
    pub keypoints: Vec<f32>,
}

impl YoloImage {
    /// Reads the labels of an image. With `classes` other than zero a class must be below it.
    pub fn parse(bytes: &[u8], task: YoloTask, classes: usize) -> Result<YoloImage> {
        let text = std::str::from_utf8(bytes).map_err(|_| Error::sample("the labels are not UTF-8 text"))?;
        let mut image = YoloImage::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (at, line) in text.lines().enumerate() {
            let wrong = |what: String| Error::sample(format!("line {} of the labels {what}", at + 1));
            let number = |word: &str| {
                let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
                value.ok_or_else(|| wrong(format!("has `{word}`, which is not a finite number")))
            };
            let numbers = line.split_ascii_whitespace().map(number).collect::<Result<Vec<f64>>>()?;
            if let Some((class, values)) = numbers.split_first() {
                image.classes.push(class_of(*class, classes).map_err(wrong)?);
                image.add(values, task).map_err(wrong)?;
            }
        }
        Ok(image)
    }

    fn add(&mut self, values: &[f64], task: YoloTask) -> Result<(), String> {
        let polygon = values.len() >= 6 && values.len().is_multiple_of(2);
        match task {
            YoloTask::Detect if values.len() == 4 => self.add_box(values),
            YoloTask::Detect if polygon => self.add_box(&around(values)),
            YoloTask::Segment if polygon => {
                self.add_box(&around(values))?;
                self.polygons.push(values.iter().map(|value| *value as f32).collect());
                Ok(())
            }
            YoloTask::Pose { count, width } if values.len() == 4 + count * width => {
                self.add_box(&values[..4])?;
                for point in values[4..].chunks_exact(width) {
                    // Without a visibility a keypoint counts as visible unless it is at the origin.
                    let seen = if point[0] == 0.0 && point[1] == 0.0 { 0.0 } else { 2.0 };
                    let visible = point.get(2).copied().unwrap_or(seen);
                    self.keypoints.extend([point[0], point[1], visible].map(|value| value as f32));
                }
                Ok(())
            }
            _ => {
                let needs = match task {
                    YoloTask::Detect => "a box has 4 (cx cy w h), a polygon at least 3 pairs".to_owned(),
                    YoloTask::Segment => "a polygon has at least 3 pairs of x and y".to_owned(),
                    YoloTask::Pose { count, width } => {
                        format!("a box and {count} keypoints of {width} have {}", 4 + count * width)
                    }
                };
                Err(format!("has {} numbers behind the class: {needs}", values.len()))
            }
        }
    }

    fn add_box(&mut self, values: &[f64]) -> Result<(), String> {
        let &[cx, cy, w, h] = values else { return Err("has no box".to_owned()) };
        if w < 0.0 || h < 0.0 {
            return Err(format!("has a box of the size {w} x {h}"));
        }
        self.boxes.push([cx, cy, w, h].map(|value| value as f32));
        self.corners.push([cx - w / 2.0, cy - h / 2.0, cx + w / 2.0, cy + h / 2.0].map(|value| value as f32));
        Ok(())
    }
}

/// The box around points, as centre and size.
fn around(points: &[f64]) -> [f64; 4] {
    let range = |skip: usize| {
        let values = points.iter().skip(skip).step_by(2);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
    };
    let ((x1, x2), (y1, y2)) = (range(0), range(1));
    [(x1 + x2) / 2.0, (y1 + y2) / 2.0, x2 - x1, y2 - y1]
}

fn class_of(value: f64, classes: usize) -> Result<i64, String> {
    if value.fract() != 0.0 || !(0.0..1e9).contains(&value) {
        return Err(format!("has the class {value}: it must be a whole number, counted from 0"));
    }
    if classes > 0 && value >= classes as f64 {
        return Err(format!(
            "has the class {value}, but only {classes} classes have names (0 to {})",
            classes - 1
        ));
    }
    Ok(value as i64)
}

/// What a `data.yaml` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct YoloData {
    /// The folder that other paths begin at.
    pub path: Option<String>,
    /// Folders or lists of the images of the split.
    pub images: Vec<String>,
    /// Names of the classes, by number.
    pub names: Vec<String>,
    /// How many keypoints objects have, and how many numbers a keypoint has.
    pub keypoints: Option<(usize, usize)>,
}

impl YoloData {
    /// Reads a `data.yaml` for one of its splits; `name` is for messages.
    pub fn parse(name: &str, bytes: &[u8], split: &str) -> Result<YoloData> {
        let wrong = |what: String| Error::argument(format!("`{name}`: {what}"));
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8 text".to_owned()))?;
        let get = |key: &str| yaml::find(text, key).map_err(wrong);
        let path = match get("path")? {
            None | Some(Yaml::Nothing) => None,
            Some(Yaml::Text(path)) => Some(path),
            Some(_) => return Err(wrong("`path` must be a text".to_owned())),
        };
        let images = match get(split)? {
            Some(Yaml::Text(one)) => vec![one],
            Some(Yaml::List(many)) if !many.is_empty() => many,
            _ => return Err(wrong(format!("it has no images for the split `{split}`"))),
        };
        let names = match get("names")? {
            None | Some(Yaml::Nothing) => Vec::new(),
            Some(Yaml::List(names)) => names,
            Some(Yaml::Map(pairs)) => in_order(pairs).map_err(wrong)?,
            Some(Yaml::Text(_)) => {
                return Err(wrong("`names` must be a list, or numbers with names".to_owned()));
            }
        };
        let keypoints = match get("kpt_shape")? {
            None | Some(Yaml::Nothing) => None,
            Some(Yaml::List(shape)) => Some(keypoint_shape(&shape).map_err(wrong)?),
            Some(_) => return Err(wrong("`kpt_shape` must be a list".to_owned())),
        };
        Ok(YoloData { path, images, names, keypoints })
    }
}

/// The names of a map from 0 to n - 1.
fn in_order(mut pairs: Vec<(String, String)>) -> Result<Vec<String>, String> {
    let number = |key: &str| key.parse::<usize>().unwrap_or(usize::MAX);
    pairs.sort_by_key(|(key, _)| number(key));
    match pairs.iter().enumerate().find(|(at, (key, _))| number(key) != *at) {
        Some((at, (key, _))) => {
            Err(format!("`names` has the key `{key}` where {at} should be: number classes from 0"))
        }
        None => Ok(pairs.into_iter().map(|(_, name)| name).collect()),
    }
}

fn keypoint_shape(shape: &[String]) -> Result<(usize, usize), String> {
    let numbers: Option<Vec<usize>> = shape.iter().map(|text| text.parse().ok()).collect();
    match numbers.as_deref() {
        Some([count @ 1..=10_000, width @ (2 | 3)]) => Ok((*count, *width)),
        _ => Err(format!("`kpt_shape` is [{}]: it must be how many keypoints, and 2 or 3", shape.join(", "))),
    }
}

#[cfg(test)]
mod tests;
