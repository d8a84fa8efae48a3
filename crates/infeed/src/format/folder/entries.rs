//! Format entries for whole files: image folders, lists of files, manifests.

use super::{EXTENSIONS, FolderSource, is_image, is_manifest};
use crate::format::paths::{Places, listed, one_folder};
use infeed_core::{
    Can, Error, FormatEntry, Guess, OpenRequest, Opened, Packing, Result, Sure, opening::ends_with,
};
use std::sync::Arc;

/// A folder of images.
pub(in crate::format) const FOLDER: FormatEntry = FormatEntry {
    name: "folder",
    about: "image folder: class sub-folders as torchvision's ImageFolder reads them, or images without classes",
    details: "Fields: `image` and, with class sub-folders, `label`. Order and labels are those of torchvision's ImageFolder.",
    params: &[],
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
        Places::Folder(folder) => {
            let names = listed(request, &folder)?;
            opened(FolderSource::open(Arc::clone(request.store), &folder, names))
        }
        Places::Files(_) => Err(Error::argument(format!("`{}` is not a folder", request.paths.join(", ")))),
    },
};

/// Image files one by one.
pub(in crate::format) const FILES: FormatEntry = FormatEntry {
    name: "files",
    about: "whole files one by one, in the given order",
    details: "Field: `image`, the bytes of a file, whatever it holds: `decode` takes images, `map` any function.",
    params: &[],
    endings: &EXTENSIONS,
    magic: &[],
    can: Can::ROWS,
    recognise: None,
    recognise_folder: Some(|_| Ok(None)),
    open: |request| opened(FolderSource::files(Arc::clone(request.store), &all_files(request)?)),
};

/// A list of files with labels.
pub(in crate::format) const MANIFEST: FormatEntry = FormatEntry {
    name: "manifest",
    about: "a text file with a path and a label on each line",
    details: "Fields: `image` and `label`. Relative paths start at the folder of the manifest.",
    params: &[],
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
        opened(FolderSource::manifest(Arc::clone(request.store), &name))
    },
};

fn opened(source: Result<FolderSource>) -> Result<Opened> {
    Ok(Opened::Rows(Arc::new(source?)))
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
