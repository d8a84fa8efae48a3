//! Files that data names: only regular files below folders that the user chose.
//!
//! A name can lead to another file a moment later, because anybody who may write to a folder can put a link there. So a file is
//! opened first, and what was opened is checked: the system says where an open file is. It is opened as a place at first
//! (`O_PATH`), which does nothing to a device and waits for nobody, and is opened for reading through that place.

use super::{check_regular, check_same, failed, modified, read, version};
use bytes::Bytes;
use infeed_core::pool::Pool;
use infeed_core::{
    Error, Result, Shard,
    store::below::{Refusal, check_size},
};
use std::{
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The folders that files must be in, as the system names them.
pub(super) struct Folders<'a> {
    given: &'a [String],
    found: Vec<PathBuf>,
}

impl<'a> Folders<'a> {
    pub(super) fn new(given: &'a [String]) -> Self {
        Folders { given, found: given.iter().filter_map(|folder| whereabouts(folder)).collect() }
    }

    /// Checks where an open file is.
    fn check(&self, name: &str, is: &Path) -> Result<()> {
        match self.found.iter().any(|folder| is.starts_with(folder)) {
            true => Ok(()),
            false => Err(Refusal::outside(name, self.given.first().map_or("", String::as_str))),
        }
    }

    /// Reads a whole file.
    pub(super) fn read(&self, name: &str, limit: u64, pool: &Arc<Pool>) -> Result<Bytes> {
        let (file, data) = self.open(name, &|| {})?;
        check_size(name, data.len(), limit)?;
        let (modified, version) = (modified(&data), version(&data));
        let shard = Shard { name: name.into(), size: data.len(), modified, version };
        let bytes = read(&file, &shard, &(0..shard.size), pool)?;
        // Nobody listed this file before, so nothing else would notice that it was written to meanwhile.
        check_same(&shard, &file.metadata().map_err(|e| failed("look at", name, e))?)?;
        Ok(bytes)
    }

    /// Opens a regular file in one of the folders, and says what was found there. `checked` is called between the check and
    /// the opening for reading.
    #[cfg(target_os = "linux")]
    pub(super) fn open(&self, name: &str, checked: &dyn Fn()) -> Result<(File, Metadata)> {
        let place = place(name).map_err(|e| unopened(name, e))?;
        let data = place.metadata().map_err(|e| failed("look at", name, e))?;
        check_regular(name, &data)?;
        let itself = itself(&place);
        let Ok(is) = fs::read_link(&itself) else { return self.open_twice(name, checked) };
        self.check(name, &is)?;
        checked();
        Ok((File::open(&itself).map_err(|e| failed("open", name, e))?, data))
    }

    /// Opens a regular file in one of the folders, and says what was found there. `checked` is called between the check and
    /// the opening for reading.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open(&self, name: &str, checked: &dyn Fn()) -> Result<(File, Metadata)> {
        self.open_twice(name, checked)
    }

    /// The way for systems that do not say where an open file is: the file is looked for, opened, and must be the same.
    fn open_twice(&self, name: &str, checked: &dyn Fn()) -> Result<(File, Metadata)> {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        let is = fs::canonicalize(name).map_err(|e| unopened(name, e))?;
        self.check(name, &is)?;
        let before = fs::symlink_metadata(&is).map_err(|e| failed("look at", name, e))?;
        check_regular(name, &before)?;
        checked();
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW)
            .open(&is)
            .map_err(|e| failed("open", name, e))?;
        let now = file.metadata().map_err(|e| failed("look at", name, e))?;
        if (before.dev(), before.ino()) != (now.dev(), now.ino()) {
            let what = "another file took its place".to_owned();
            return Err(Error::Changed { path: name.to_owned(), what });
        }
        Ok((file, now))
    }
}

/// Opens a file or folder as a place, without a right to read it.
#[cfg(target_os = "linux")]
fn place(name: &str) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).custom_flags(libc::O_PATH).open(name)
}

/// Returns the name under which the system has an open file: a link to where it is, which can be opened like the file.
#[cfg(target_os = "linux")]
fn itself(file: &File) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file))
}

/// Returns where a folder is, once links are followed.
fn whereabouts(folder: &str) -> Option<PathBuf> {
    // One question for the whole path, instead of one for each of its parts.
    #[cfg(target_os = "linux")]
    if let Some(is) = place(folder).ok().and_then(|place| fs::read_link(itself(&place)).ok()) {
        return Some(is);
    }
    fs::canonicalize(folder).ok()
}

/// The error of a name that could not be opened. Names that no storage could open are the data's fault.
fn unopened(name: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ELOOP | libc::ENOTDIR | libc::ENAMETOOLONG) => {
            Error::io("open", name, io::Error::new(io::ErrorKind::InvalidInput, error.to_string()))
        }
        _ => failed("open", name, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LocalStore;
    use infeed_core::{Store, StoreExt};
    use std::os::unix::fs::symlink;

    /// A folder `in` with a file and a folder of files, and a file beside it.
    fn folders() -> (tempfile::TempDir, PathBuf, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("in");
        fs::create_dir_all(inside.join("deep")).unwrap();
        fs::write(inside.join("own"), "own").unwrap();
        fs::write(inside.join("deep/own"), "deep").unwrap();
        fs::write(dir.path().join("secret"), "secret").unwrap();
        let given = vec![format!("{}/", inside.display())];
        (dir, inside, given)
    }

    fn named(folder: &Path, name: &str) -> String {
        folder.join(name).display().to_string()
    }

    #[test]
    fn files_and_links_below_the_folder_are_read() {
        let (dir, inside, given) = folders();
        symlink("deep/own", inside.join("link")).unwrap();
        symlink(inside.join("own"), inside.join("absolute")).unwrap();
        symlink("../in/own", inside.join("out-and-in")).unwrap();
        fs::write(inside.join("empty"), "").unwrap();
        let store = LocalStore::new();
        let names: Vec<String> = ["own", "deep/own", "link", "absolute", "out-and-in", "empty"]
            .iter()
            .map(|name| named(&inside, name))
            .collect();
        let bytes = store.read_below(&names, &given, 100).unwrap();
        assert_eq!(bytes, ["own", "deep", "deep", "own", "own", ""]);
        // A folder that is a link itself is where it leads to.
        symlink(&inside, dir.path().join("other")).unwrap();
        let other = [format!("{}/", dir.path().join("other").display())];
        let bytes = store.read_below(&[format!("{}own", other[0])], &other, 100).unwrap();
        assert_eq!(bytes, ["own"]);
    }

    #[test]
    fn everything_else_is_refused() {
        let (dir, inside, given) = folders();
        symlink(dir.path().join("secret"), inside.join("link")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("/dev/zero", inside.join("zero")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        let store = LocalStore::new();
        let refused = |name: &str| {
            let error = store.read_below(&[named(&inside, name)], &given, 100).unwrap_err();
            (Refusal::of(&error), error.to_string())
        };
        for (name, why) in [
            ("link", Refusal::Outside),
            ("up/secret", Refusal::Outside),
            ("zero", Refusal::NotAFile),
            ("socket", Refusal::NotAFile),
            ("deep", Refusal::NotAFile),
            ("loop", Refusal::NotAFile),
            ("own/x", Refusal::NotAFile),
            (&"x".repeat(300), Refusal::NotAFile),
        ] {
            assert_eq!(refused(name).0, Some(why), "{name}");
        }
        fs::write(inside.join("long"), [0; 101]).unwrap();
        let (why, said) = refused("long");
        assert!(why.is_none() && said.contains("long`: it would take 101 bytes"), "{said}");
        assert!(matches!(
            store.read_below(&[named(&inside, "lost")], &given, 100),
            Err(Error::NotFound { .. })
        ));
        assert!(store.stat_one(&named(&inside, "link")).is_ok());
    }

    #[test]
    fn a_link_that_is_swapped_after_the_check_changes_nothing() {
        let (dir, inside, given) = folders();
        let name = named(&inside, "own");
        let swap = || {
            fs::rename(inside.join("own"), inside.join("moved")).unwrap();
            symlink(dir.path().join("secret"), inside.join("own")).unwrap();
        };
        let folders = Folders::new(&given);
        let (file, _) = folders.open(&name, &swap).unwrap();
        assert_eq!(std::io::read_to_string(file).unwrap(), "own");
        assert!(folders.open(&name, &|| {}).is_err());
    }

    #[test]
    fn a_folder_that_is_swapped_after_the_check_changes_nothing() {
        let (dir, inside, given) = folders();
        fs::create_dir(dir.path().join("deep")).unwrap();
        fs::write(dir.path().join("deep/own"), "secret").unwrap();
        let swap = || {
            fs::rename(inside.join("deep"), inside.join("moved")).unwrap();
            symlink(dir.path().join("deep"), inside.join("deep")).unwrap();
        };
        let (file, _) = Folders::new(&given).open(&named(&inside, "deep/own"), &swap).unwrap();
        assert_eq!(std::io::read_to_string(file).unwrap(), "deep");
    }

    #[test]
    fn without_the_help_of_the_system_a_swapped_file_is_an_error() {
        let (dir, inside, given) = folders();
        let folders = Folders::new(&given);
        assert!(folders.open_twice(&named(&inside, "deep/own"), &|| {}).is_ok());
        let swap = || {
            fs::remove_file(inside.join("own")).unwrap();
            symlink(dir.path().join("secret"), inside.join("own")).unwrap();
        };
        assert!(folders.open_twice(&named(&inside, "own"), &swap).is_err());
        let swap = || {
            fs::rename(inside.join("deep"), inside.join("moved")).unwrap();
            symlink(dir.path(), inside.join("deep")).unwrap();
            fs::write(dir.path().join("own"), "secret").unwrap();
        };
        let error = folders.open_twice(&named(&inside, "deep/own"), &swap).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_written_to_is_told_from_the_one_that_was_opened() {
        let (_dir, inside, given) = folders();
        let name = named(&inside, "own");
        let (file, data) = Folders::new(&given).open(&name, &|| {}).unwrap();
        let (modified, version) = (modified(&data), version(&data));
        let shard = Shard { name: name.as_str().into(), size: data.len(), modified, version };
        fs::write(&name, "longer than before").unwrap();
        let error = check_same(&shard, &file.metadata().unwrap()).unwrap_err();
        assert!(error.to_string().contains("had 3 bytes and has 18 now"), "{error}");
        fs::write(&name, "").unwrap();
        let error = read(&file, &shard, &(0..3), &Pool::new(0)).unwrap_err();
        assert!(matches!(error, Error::Changed { .. }), "{error}");
    }
}
