//! Resolves the paths of a request to files of the format.

use crate::stream::Opening;
use infeed_core::{Error, Found, OpenRequest, Packing, Result, opening::ends_with};

/// What a format is opened on.
#[derive(Debug)]
pub(super) enum Inputs {
    /// Plain files, which allow random access.
    Files(Vec<String>),
    /// Commands, standard input and compressed files, maybe mixed with plain ones: read from front to back.
    Stream(Vec<Opening>),
}

impl Inputs {
    /// Resolves the paths. In a folder only files with the format's extensions count.
    pub(super) fn find(request: &OpenRequest<'_>) -> Result<Inputs> {
        if request.paths.iter().any(|path| Opening::is_stream(path)) {
            return Ok(Inputs::Stream(request.paths.iter().map(|path| Opening::parse(path)).collect()));
        }
        let names = match one_folder(request)? {
            Places::Files(names) => names,
            Places::Folder(folder) => {
                let names = own(request, &listed(request, &folder)?);
                if names.is_empty() {
                    let ending = request.entry.endings.first().copied().unwrap_or_default();
                    let hint = format!("; there is no {ending} file in it");
                    return Err(Error::NotFound { path: request.paths.join(", "), hint });
                }
                names
            }
        };
        if names.iter().any(|name| Packing::of_name(name).is_some()) {
            return Ok(Inputs::Stream(names.into_iter().map(Opening::File).collect()));
        }
        Ok(Inputs::Files(names))
    }
}

/// What paths stand for: files, or one folder.
#[derive(Debug)]
pub(super) enum Places {
    Files(Vec<String>),
    Folder(String),
}

/// Looks paths up. A folder must be the only path.
pub(super) fn one_folder(request: &OpenRequest<'_>) -> Result<Places> {
    places(&request.find()?)
}

/// Sorts paths into files or one folder. Several folders, or files beside a folder, are refused as ambiguous.
pub(super) fn places(found: &[Found]) -> Result<Places> {
    match found.iter().find(|found| matches!(found, Found::Folder(_))) {
        None => Ok(Places::Files(found.iter().map(|f| f.name().to_owned()).collect())),
        Some(folder) if found.len() == 1 => Ok(Places::Folder(folder.name().to_owned())),
        Some(folder) => Err(Error::argument(format!(
            "several paths, and `{}` is a folder: give one folder, or files",
            folder.name()
        ))),
    }
}

/// Returns the names below a folder.
pub(super) fn listed(request: &OpenRequest<'_>, folder: &str) -> Result<Vec<String>> {
    match request.listed {
        Some(listed) => Ok(listed.to_vec()),
        None => request.store.names(folder),
    }
}

/// Returns the files of the request's format. `.json` documents are left out if files have a more specific extension.
fn own(request: &OpenRequest<'_>, names: &[String]) -> Vec<String> {
    let mine = |name: &&String| {
        let bare = Packing::bare(name);
        !name.ends_with('/') && request.entry.has_ending(bare) && !is_side_file(bare)
    };
    let all: Vec<&String> = names.iter().filter(mine).collect();
    let lines: Vec<&String> = all.iter().filter(|name| !ends_with(name, ".json")).copied().collect();
    let chosen = if lines.is_empty() { all } else { lines };
    chosen.into_iter().cloned().collect()
}

/// Whether a file is one that programs keep beside data: the locks of LMDB, the list of staged files.
pub(super) fn is_side_file(name: &str) -> bool {
    name.ends_with("lock.mdb") || name.ends_with("-lock") || name.ends_with("/infeed-stage.json")
}

/// The error of formats that need random access, for compressed files, commands and standard input.
pub(crate) fn not_streamed(request: &OpenRequest<'_>) -> Error {
    let entry = request.entry.name;
    let can: Vec<&str> = super::entries().filter(|entry| entry.can.stream).map(|entry| entry.name).collect();
    Error::argument(format!(
        "`{}`: {entry} cannot be read from front to back (compressed files, `pipe:`, `-`); unpack the data to a file. {} can",
        request.paths.join(", "),
        can.join(", ")
    ))
}
