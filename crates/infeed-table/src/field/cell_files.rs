//! Files that cells name: `{bytes: null, path: "images/1.jpg"}`, as Hugging Face stores images.
//!
//! The path comes from the data, so it is not trusted: it must lead to a regular file below the folder of the table, or below
//! the folder that the user names with `files=`. It may be relative to one of them, or absolute.

use crate::shard::limit::BlockLimit;
use infeed_core::{
    Bytes, Error, Result, Store,
    memory::DEFAULT_LIMIT,
    store::below::{Refusal, folder_of, name_below},
};

/// Where the files of cells may be.
#[derive(Debug, Default)]
pub(crate) struct CellFiles {
    /// The folder given by `files=`, with a slash at its end.
    folder: Option<String>,
}

impl CellFiles {
    pub(crate) fn new(folder: Option<&str>) -> Self {
        CellFiles { folder: folder.map(|folder| format!("{}/", folder.trim_end_matches('/'))) }
    }

    /// Reads the file that a cell of `shard` names.
    pub(crate) fn read(
        &self,
        store: &dyn Store,
        shard: &str,
        path: &str,
        limit: &BlockLimit,
    ) -> Result<Bytes> {
        let folders: Vec<String> = [folder_of(shard)].into_iter().chain(self.folder.clone()).collect();
        let mut missing = None;
        for folder in &folders {
            let Some(name) = name_below(store, folder, path) else { continue };
            match store.read_below(&[name], &folders, limit.get().min(DEFAULT_LIMIT)) {
                Err(Error::NotFound { path, hint }) => {
                    missing.get_or_insert(Error::NotFound { path, hint });
                }
                Err(error) => return Err(explained(error, path, &folders[0])),
                Ok(mut bytes) => return Ok(bytes.pop().unwrap_or_default()),
            }
        }
        Err(missing.unwrap_or_else(|| refused(path, &folders[0], "outside of")))
    }
}

/// Says what the cell names and what can be done, where that is what the file was refused for.
fn explained(error: Error, path: &str, folder: &str) -> Error {
    match Refusal::of(&error) {
        Some(Refusal::Outside) => refused(path, folder, "a link to outside of"),
        Some(Refusal::NotAFile) => {
            Error::sample(format!("the cell names `{path}`, which is no regular file: it is not read"))
        }
        None => error,
    }
}

fn refused(path: &str, folder: &str, how: &str) -> Error {
    Error::sample(format!(
        "the cell names the file `{path}`, which is {how} the table's folder `{folder}`: it is not read; files=\"FOLDER\" names \
         a folder that cells may refer to"
    ))
}
