//! Lists the names below a folder.

use super::{failed, missing};
use infeed_core::{Error, Result, parallel};
use std::{fs::Metadata, io, os::unix::fs::MetadataExt, path::Path};

/// Folders read concurrently. More than there are CPUs: on a network file system each is a round trip.
const AT_ONCE: usize = 8;

/// Device and inode: the identity of a folder, whatever its name.
type Identity = (u64, u64);

/// Returns every file below `folder`, sorted; names of sub-folders end in `/`. Links are followed, like `os.walk` with
/// `followlinks=True`, except those that lead back to a folder that contains them.
pub(super) fn walk(folder: &str) -> Result<Vec<String>> {
    let root = if folder.is_empty() { "." } else { folder };
    let data = std::fs::metadata(root).map_err(|e| failed("look at", root, e))?;
    if !data.is_dir() {
        return Err(failed("list", root, io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")));
    }
    let mut names = Vec::new();
    let folders = read_folder(&base(folder), &[identity(&data)], &mut names)?;
    below(folders, &mut names)?;
    names.sort_unstable();
    Ok(names)
}

/// Returns every file whose name starts with `prefix`, sorted.
pub(super) fn with_prefix(prefix: &str) -> Result<Vec<String>> {
    let folder = &prefix[..prefix.rfind('/').map_or(0, |slash| slash + 1)];
    let root = if folder.is_empty() { "." } else { folder };
    let data = match std::fs::metadata(root) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(missing(Path::new(root))),
        other => other.map_err(|e| failed("look at", root, e))?,
    };
    let mut names = Vec::new();
    let mut folders = read_folder(folder, &[identity(&data)], &mut names)?;
    names.retain(|name| name.starts_with(prefix));
    folders.retain(|(name, _)| name.starts_with(prefix));
    below(folders, &mut names)?;
    names.retain(|name| !name.ends_with('/'));
    names.sort_unstable();
    Ok(names)
}

/// Returns a folder's name as a prefix of the names in it.
fn base(folder: &str) -> String {
    if folder.is_empty() || folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") }
}

/// Adds everything below these folders, several folders at a time.
fn below(folders: Vec<(String, Vec<Identity>)>, names: &mut Vec<String>) -> Result<()> {
    let found = parallel::map(folders.len(), AT_ONCE, |at| {
        let (name, above) = &folders[at];
        let mut mine = Vec::new();
        descend(name, above, &mut mine)?;
        Ok(mine)
    })?;
    names.extend(found.into_iter().flatten());
    Ok(())
}

fn descend(folder: &str, above: &[Identity], names: &mut Vec<String>) -> Result<()> {
    for (name, above) in read_folder(folder, above, names)? {
        descend(&name, &above, names)?;
    }
    Ok(())
}

/// Adds the entries of one folder and returns its sub-folders with the identities of all folders above them.
fn read_folder(
    folder: &str,
    above: &[Identity],
    names: &mut Vec<String>,
) -> Result<Vec<(String, Vec<Identity>)>> {
    let path = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| failed("list", folder, e))? {
        let entry = entry.map_err(|e| failed("list", folder, e))?;
        let Ok(name) = entry.file_name().into_string() else {
            return Err(not_text(&path.join(entry.file_name())));
        };
        let full = format!("{folder}{name}");
        // The kind comes with the directory entry; only links and folders need a lookup of their own.
        let kind = entry.file_type().map_err(|e| failed("look at", &full, e))?;
        let target = match (!kind.is_file()).then(|| std::fs::metadata(&full)).transpose() {
            Err(e) if kind.is_dir() => return Err(failed("look at", &full, e)),
            // A dangling link stays a name: reading it reports what is wrong.
            other => other.ok().flatten(),
        };
        match target.filter(Metadata::is_dir) {
            Some(data) => {
                let me = identity(&data);
                if !above.contains(&me) {
                    names.push(format!("{full}/"));
                    folders.push((format!("{full}/"), above.iter().copied().chain([me]).collect()));
                }
            }
            None => names.push(full),
        }
    }
    Ok(folders)
}

fn identity(data: &Metadata) -> Identity {
    (data.dev(), data.ino())
}

fn not_text(path: &Path) -> Error {
    Error::argument(format!("the name of {path:?} is not UTF-8; rename the file"))
}
