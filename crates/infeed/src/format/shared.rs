//! Arguments that formats share.

use super::saved::IndexCache;
use crate::layout::rows::LARGEST;
use infeed_core::{Args, Error, Param, Result};

/// The argument for where found rows are saved.
pub(super) const INDEX: Param = Param {
    name: "index",
    python: "str | os.PathLike[str]",
    default: Some("\"auto\""),
    about: "where the places of rows are kept between runs: auto (the user's cache folder, if finding them took long), off, \
            beside (the file), or a folder",
};

/// The argument for the largest row.
pub(super) const MAX_ROW: Param = Param {
    name: "max_row",
    python: "int",
    default: Some("268435456"),
    about: "the largest row in bytes; a longer one is an error, so that it cannot fill the memory",
};

const _: () = assert!(LARGEST == 268_435_456);

/// Returns where found rows are saved.
pub(super) fn cache(args: &Args) -> Result<IndexCache> {
    Ok(match args.text("index")? {
        "" => return Err(args.error("index", "must be auto, off, beside or a folder")),
        "auto" => IndexCache::Auto,
        "off" => IndexCache::Off,
        "beside" => IndexCache::Beside,
        folder => IndexCache::Folder(folder.into()),
    })
}

/// Returns a list of names, or `None`.
pub(super) fn names(args: &Args, name: &str) -> Result<Option<Vec<String>>> {
    if args.is_none(name) {
        return Ok(None);
    }
    let names = args.texts(name)?;
    match names.iter().enumerate().find(|(at, one)| names[..*at].contains(one)) {
        Some((_, twice)) => Err(Error::argument(format!("{name} names `{twice}` twice"))),
        None if names.is_empty() => Err(args.error(name, "names nothing")),
        None => Ok(Some(names)),
    }
}
