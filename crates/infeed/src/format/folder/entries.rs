//! Format entries for whole files: image folders, lists of files, manifests.

use super::{EXTENSIONS, Endings, FolderSource, is_image, is_manifest, metadata};
use crate::format::paths::{Places, listed, one_folder};
use infeed_core::{
    Can, Error, FormatEntry, Guess, OpenRequest, Opened, Packing, Param, Result, Sure, opening::ends_with,
    store::below::stays_inside,
};
use std::sync::Arc;

/// The argument for the name of the field of files.
const FIELD: Param = Param {
    name: "field",
    python: "str | None",
    default: Some("null"),
    about: "the name of the field of files: by default `image` for images, otherwise their ending (`wav`), or `file` if there are \
            several",
};

/// A folder of images.
pub(in crate::format) const FOLDER: FormatEntry = FormatEntry {
    name: "folder",
    about: "image folder: class sub-folders as torchvision's ImageFolder reads them, or images without classes",
    details: "Fields: `image` and, with class sub-folders, `label`. Order and labels are those of torchvision's ImageFolder. \
              A folder with `metadata.csv`, `metadata.jsonl` or `metadata.parquet`, as Hugging Face's imagefolder has it, has the rows \
              of that table instead: `image` is the file that its column `file_name` names, `mask` the one of `mask_file_name`, and \
              the other columns are fields. With `endings` it is a folder of other files.",
    params: &[
        Param {
            name: "split",
            python: "str | None",
            default: Some("null"),
            about: "read the sub-folder of this name only: `train`",
        },
        Param {
            name: "endings",
            python: "str | Sequence[str] | None",
            default: Some("null"),
            about: "the files that count: `.wav`; by default images",
        },
        FIELD,
        Param {
            name: "metadata",
            python: "bool",
            default: Some("true"),
            about: "whether tables of metadata are used",
        },
    ],
    endings: &[],
    magic: &[],
    can: Can { many: false, ..Can::ROWS },
    recognise: Some(|_| None),
    recognise_folder: Some(|folder| {
        let images = folder.files.iter().filter(|name| is_image(name)).count();
        let tars = folder.files.iter().filter(|name| ends_with(Packing::bare(name), ".tar")).count();
        // With at least as many tars as images, the images are previews of what the tars hold.
        let sure = if images > tars { Sure::Certain } else { Sure::Head };
        Ok((images > 0).then(|| Guess { count: images, ..Guess::new(sure) }))
    }),
    open: |request| match one_folder(request)? {
        Places::Folder(folder) => open_folder(request, folder),
        Places::Files(_) => Err(Error::argument(format!("`{}` is not a folder", request.paths.join(", ")))),
    },
};

/// Image files one by one.
pub(in crate::format) const FILES: FormatEntry = FormatEntry {
    name: "files",
    about: "whole files one by one, in the given order",
    details: "One field, the bytes of a file, whatever it holds: `decode` takes images, `map` any function.",
    params: &[FIELD],
    endings: &EXTENSIONS,
    magic: &[],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: Some(|_| Ok(None)),
    open: |request| opened(request, FolderSource::files(Arc::clone(request.store), &all_files(request)?)?),
};

/// A list of files with labels.
pub(in crate::format) const MANIFEST: FormatEntry = FormatEntry {
    name: "manifest",
    about: "a text file with a path and a label on each line",
    details: "Fields: `image` and `label`. Relative paths start at the folder of the manifest.",
    params: &[FIELD],
    endings: &[],
    magic: &[],
    can: Can { many: false, ..Can::ROWS },
    recognise: Some(|file| {
        let listed = [".txt", ".csv", ".tsv"].iter().any(|ending| ends_with(file.name, ending));
        let found = file.alone && listed && is_manifest(&String::from_utf8_lossy(file.head));
        found.then(|| Guess::new(Sure::Certain))
    }),
    recognise_folder: Some(|_| Ok(None)),
    open: |request| {
        let name = all_files(request)?.into_iter().next().unwrap_or_default();
        opened(request, FolderSource::manifest(Arc::clone(request.store), &name)?)
    },
};

/// Names the field of files.
fn opened(request: &OpenRequest<'_>, source: FolderSource) -> Result<Opened> {
    let args = request.args()?;
    let source = if args.is_none("field") { source } else { source.named(args.text("field")?)? };
    Ok(Opened::Rows(Arc::new(source)))
}

/// Opens a folder, or one of its parts: by its metadata, or the files in it.
fn open_folder(request: &OpenRequest<'_>, mut folder: String) -> Result<Opened> {
    let args = request.args()?;
    let mut names = listed(request, &folder)?;
    if !args.is_none("split") {
        let split = args.text("split")?;
        let part = format!("{}/{split}", folder.trim_end_matches('/'));
        let inside = format!("{part}/");
        names.retain(|name| name.len() > inside.len() && name.starts_with(&inside));
        if names.is_empty() || !stays_inside(split) {
            let hint = format!("; split=\"{split}\" names a sub-folder with files in it");
            return Err(Error::NotFound { path: part, hint });
        }
        folder = part;
    }
    let field = if args.is_none("field") { None } else { Some(args.text("field")?) };
    let endings = match args.is_none("endings") {
        true => Endings::Images,
        false => Endings::new(&args.texts("endings")?)?,
    };
    if args.flag("metadata")?
        && let Some(table) = metadata::open(request, &folder, &names, field)?
    {
        return Ok(table);
    }
    opened(request, FolderSource::of(Arc::clone(request.store), &folder, names, &endings)?)
}

/// Returns the files that paths stand for; for a folder, all files below it.
fn all_files(request: &OpenRequest<'_>) -> Result<Vec<String>> {
    match one_folder(request)? {
        Places::Files(names) => Ok(names),
        Places::Folder(folder) => {
            let mut names = listed(request, &folder)?;
            names.retain(|name| !name.ends_with('/'));
            Ok(names)
        }
    }
}
