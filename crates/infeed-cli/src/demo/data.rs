//! The demo's data set: created, and removed again.

use crate::{args::DemoArgs, fault::Fault, interrupt, progress::Progress};
use infeed::Error;
use infeed_testkit::{JpegOptions, ShardSpec, shards_watched};
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Width and height of the images.
pub(super) const SIDE: u32 = 450;
/// Number of shards: enough that every CPU has one to write.
const SHARDS: u64 = 16;

/// Shards on disk, removed on drop unless they are to be kept.
#[derive(Debug)]
pub(super) struct Data {
    pub(super) paths: Vec<String>,
    pub(super) bytes: u64,
    home: Home,
}

/// Where the shards are.
#[derive(Debug)]
enum Home {
    /// A folder of our own, removed with everything in it.
    Temporary(TempDir),
    /// The user's folder: only what was made is removed.
    Given { dir: PathBuf, made: bool },
    /// Not removed.
    Kept(PathBuf),
}

impl Data {
    pub(super) fn make(args: &DemoArgs) -> Result<Self, Fault> {
        let home = Home::open(args.dir.as_deref())?;
        let dir = home.path().to_owned();
        // From here on, dropping it removes what has been written, even when the rest fails.
        let mut data = Data { paths: vec![], bytes: 0, home };
        let spec = ShardSpec {
            samples: args.samples,
            per_shard: args.samples.div_ceil(SHARDS).max(1),
            width: SIDE,
            height: SIDE,
            classes: 1000,
            // About half a byte per pixel, as in ImageNet.
            jpeg: JpegOptions::quality(95),
            name: "demo".to_owned(),
            ..ShardSpec::default()
        };
        let bar = Progress::count("making images", args.samples);
        let made = shards_watched(&dir, &spec, &|| {
            bar.step();
            if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        data.paths = made.iter().map(|p| p.to_string_lossy().into_owned()).collect();
        data.bytes = made.iter().filter_map(|p| p.metadata().ok()).map(|m| m.len()).sum();
        interrupt::check()?;
        if args.keep {
            data.home = match std::mem::replace(&mut data.home, Home::Kept(PathBuf::new())) {
                Home::Temporary(dir) => Home::Kept(dir.keep()),
                Home::Given { dir, .. } | Home::Kept(dir) => Home::Kept(dir),
            };
        }
        Ok(data)
    }

    /// The folder.
    pub(super) fn place(&self) -> String {
        self.home.path().to_string_lossy().into_owned()
    }
}

impl Home {
    fn open(dir: Option<&Path>) -> Result<Self, Fault> {
        let Some(dir) = dir else {
            let temporary = tempfile::Builder::new().prefix("infeed-demo-").tempdir();
            let place = std::env::temp_dir();
            return temporary.map(Home::Temporary).map_err(|e| failed("make a folder in", &place, e));
        };
        let made = !dir.exists();
        std::fs::create_dir_all(dir).map_err(|e| failed("make the folder", dir, e))?;
        let mut inside = std::fs::read_dir(dir).map_err(|e| failed("list", dir, e))?;
        // The user's files are never overwritten or removed.
        if inside.next().is_some() {
            let what = format!("`{}` is not empty: give a new or empty folder", dir.display());
            return Err(Error::argument(what).into());
        }
        Ok(Home::Given { dir: dir.to_owned(), made })
    }

    fn path(&self) -> &Path {
        match self {
            Home::Temporary(dir) => dir.path(),
            Home::Given { dir, .. } | Home::Kept(dir) => dir,
        }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        // The temporary folder removes itself. Errors are ignored: a destructor cannot report them.
        if let Home::Given { dir, made } = &self.home {
            for path in &self.paths {
                let _ = std::fs::remove_file(path);
            }
            if *made {
                let _ = std::fs::remove_dir(dir);
            }
        }
    }
}

fn failed(doing: &'static str, place: &Path, cause: std::io::Error) -> Fault {
    Error::io(doing, place.to_string_lossy(), cause).into()
}
