//! Pascal VOC: one XML file per image.

use infeed_core::{Error, Result};
use roxmltree::{Document, Node};

/// The classes of Pascal VOC, in the order that numbers them.
pub const VOC_CLASSES: [&str; 20] = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
];

/// More nodes than this are no annotation of an image.
const MOST_NODES: u32 = 1 << 20;

/// The annotation of one image.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VocImage {
    /// Width; zero if the file does not say.
    pub width: u32,
    /// Height; zero if the file does not say.
    pub height: u32,
    /// Whether there are segmentations of the image.
    pub segmented: bool,
    /// Its objects, in the order of the file.
    pub objects: Vec<VocObject>,
}

/// One object of an image.
#[derive(Debug, Clone, PartialEq)]
pub struct VocObject {
    /// The name of its class.
    pub name: String,
    /// Corners of its box as the file states them: x1, y1, x2, y2, counted from 1.
    pub corners: [f32; 4],
    /// Whether it is hard to recognise.
    pub difficult: bool,
    /// Whether only a part of it is in the image.
    pub truncated: bool,
}

impl VocImage {
    /// Reads an annotation.
    pub fn parse(bytes: &[u8]) -> Result<VocImage> {
        let text =
            std::str::from_utf8(bytes).map_err(|_| Error::sample("the annotation is not UTF-8 text"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        // Without document types there are no entities that could grow.
        let options = roxmltree::ParsingOptions { nodes_limit: MOST_NODES, ..Default::default() };
        let document = Document::parse_with_options(text, options)
            .map_err(|e| Error::sample(format!("the annotation is not XML: {e}")))?;
        let root = document.root_element();
        if !root.has_tag_name("annotation") {
            let found = root.tag_name().name();
            return Err(Error::sample(format!("the XML has the element `{found}`, not `annotation`")));
        }
        let mut image = VocImage { segmented: flag(root, "segmented")?, ..Default::default() };
        if let Some(size) = child(root, "size") {
            (image.width, image.height) = (side(size, "width")?, side(size, "height")?);
        }
        let objects = root.children().filter(|node| node.has_tag_name("object"));
        image.objects = objects.enumerate().map(|(at, node)| object(at, node)).collect::<Result<_>>()?;
        Ok(image)
    }
}

fn object(at: usize, node: Node<'_, '_>) -> Result<VocObject> {
    let name = text(node, "name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| Error::sample(format!("object {at} of the annotation has no `name`")))?;
    let wrong = |what: String| Error::sample(format!("object {at} (`{name}`) of the annotation {what}"));
    let bounds = child(node, "bndbox").ok_or_else(|| wrong("has no `bndbox`".to_owned()))?;
    let corner = |key: &str| {
        let text = text(bounds, key).ok_or_else(|| wrong(format!("has no `{key}` in its `bndbox`")))?;
        let value = text.parse::<f32>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| wrong(format!("has the {key} `{text}`, which is not a finite number")))
    };
    let corners = [corner("xmin")?, corner("ymin")?, corner("xmax")?, corner("ymax")?];
    Ok(VocObject {
        name: name.to_owned(),
        corners,
        difficult: flag(node, "difficult")?,
        truncated: flag(node, "truncated")?,
    })
}

fn child<'a, 'i>(node: Node<'a, 'i>, key: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.has_tag_name(key))
}

fn text<'a>(node: Node<'a, '_>, key: &str) -> Option<&'a str> {
    Some(child(node, key)?.text().unwrap_or_default().trim())
}

fn flag(node: Node<'_, '_>, key: &str) -> Result<bool> {
    match text(node, key) {
        // The first data sets of the series leave flags out.
        None | Some("" | "0" | "Unspecified") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => {
            Err(Error::sample(format!("the annotation has `{other}` for {key}: it must be 0 or 1")))
        }
    }
}

fn side(size: Node<'_, '_>, key: &str) -> Result<u32> {
    let Some(text) = text(size, key) else { return Ok(0) };
    text.parse().map_err(|_| {
        Error::sample(format!("the annotation has the {key} `{text}`: it must be a whole number"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "<annotation>\n <size><width>500</width><height>375</height><depth>3</depth></size>\n \
        <segmented>1</segmented>\n <object><name>dog</name><pose>Left</pose><truncated>1</truncated>\
        <difficult>0</difficult><bndbox><xmax>196</xmax><xmin>48.5</xmin><ymin>240</ymin><ymax>371</ymax></bndbox>\
        <part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object></annotation>";

    #[test]
    fn objects_are_read() {
        let image = VocImage::parse(GOOD.as_bytes()).unwrap();
        assert_eq!((image.width, image.height, image.segmented), (500, 375, true));
        let corners = [48.5, 240.0, 196.0, 371.0];
        let dog = VocObject { name: "dog".to_owned(), corners, difficult: false, truncated: true };
        assert_eq!(image.objects, [dog]);
        assert!(VocImage::parse(b"<annotation/>").unwrap().objects.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, what) in [
            ("<name>dog</name>", "", "object 0 of the annotation has no `name`"),
            ("<xmax>196</xmax>", "", "object 0 (`dog`) of the annotation has no `xmax`"),
            ("240", "nan", "has the ymin `nan`"),
            ("<difficult>0", "<difficult>2", "`2` for difficult"),
            ("<width>500", "<width>-5", "has the width `-5`"),
            ("</object>", "", "not XML"),
            ("annotation>", "note>", "the element `note`"),
            ("<annotation>", "<!DOCTYPE a [<!ENTITY b 'c'>]><annotation>", "not XML"),
        ] {
            let message = VocImage::parse(GOOD.replace(from, to).as_bytes()).unwrap_err().to_string();
            assert!(message.contains(what), "{what}: {message}");
        }
        assert!(VocImage::parse(b"\xff").is_err());
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
        assert!(VocImage::parse(deep.as_bytes()).is_err());
    }
}
