//! Kinds of files by their endings: which ones count in a folder, and what the field of their bytes is called.

use super::{EXTENSIONS, is_image};
use infeed_core::{Error, Result, opening::ends_with};

/// Endings of images that infeed decodes, or Pillow does, and torchvision does not count in folders.
const MORE: [&str; 9] = [".gif", ".jpe", ".jfif", ".pnm", ".pbm", ".avif", ".heic", ".jxl", ".jp2"];

/// Longest ending that is the name of a field.
const LONGEST: usize = 16;

/// The files of a folder that count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endings {
    /// Images: [`EXTENSIONS`].
    Images,
    /// Files with one of these endings, each with its dot.
    Of(Vec<String>),
}

impl Endings {
    /// Takes endings as users write them, with or without the dot.
    pub(super) fn new(given: &[String]) -> Result<Endings> {
        let dotted = |ending: &String| match ending.strip_prefix('.').unwrap_or(ending) {
            "" => {
                Err(Error::argument("folder: endings has an empty one; an ending is text such as \".wav\""))
            }
            bare => Ok(format!(".{bare}")),
        };
        match given {
            [] => Err(Error::argument("folder: endings names none; leave it out for images")),
            given => Ok(Endings::Of(given.iter().map(dotted).collect::<Result<_>>()?)),
        }
    }

    /// Whether a file counts.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Endings::Images => is_image(name),
            Endings::Of(endings) => endings.iter().any(|ending| ends_with(name, ending)),
        }
    }

    /// What they are, for messages.
    pub(super) fn words(&self) -> String {
        match self {
            Endings::Images => format!("no image in it (extensions: {})", EXTENSIONS.join(" ")),
            Endings::Of(endings) => format!("no {} file in it", endings.join(" ")),
        }
    }
}

/// Returns the name of the field for the bytes of these files: `image` for images, otherwise their ending, as for the members
/// of a tar, or `file` if there are several. Files without an ending may be images.
pub(super) fn field_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut common: Option<&str> = None;
    let mut mixed = false;
    for name in names {
        if is_image(name) || MORE.iter().any(|ending| ends_with(name, ending)) {
            return "image".to_owned();
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        let ending =
            base.rsplit_once('.').map_or("", |(front, ending)| if front.is_empty() { "" } else { ending });
        mixed |= common.is_some_and(|known| !known.eq_ignore_ascii_case(ending));
        common = Some(ending);
    }
    let plain = |ending: &str| ending.len() <= LONGEST && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    match common {
        None | Some("") if !mixed => "image".to_owned(),
        Some(ending) if !mixed && plain(ending) => ending.to_ascii_lowercase(),
        _ => "file".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_called_by_what_files_are() {
        for (names, want) in [
            (vec!["a.jpg", "b.PNG"], "image"),
            (vec!["a.gif"], "image"),
            (vec!["notes.txt", "b.jpg"], "image"),
            (vec!["a", "x.y/b"], "image"),
            (vec![".hidden"], "image"),
            (vec!["a.wav", "x/b.WAV"], "wav"),
            (vec!["a.tar.gz"], "gz"),
            (vec!["a.wav", "b.mp3"], "file"),
            (vec!["a.wav", "b"], "file"),
            (vec!["a.b c"], "file"),
            (vec![], "image"),
        ] {
            assert_eq!(field_of(names.iter().copied()), want, "{names:?}");
        }
    }

    #[test]
    fn endings_have_a_dot() {
        let endings = Endings::new(&["wav".to_owned(), ".FLAC".to_owned()]).unwrap();
        assert!(
            endings.has("a.WAV") && endings.has("b/c.flac") && !endings.has("a.jpg") && !endings.has("wav")
        );
        assert!(Endings::new(&[]).is_err() && Endings::new(&[".".to_owned()]).is_err());
        assert!(Endings::Images.has("a.jpg") && !Endings::Images.has("a.gif"));
    }
}
