//! Libraries that are found at run time.

use crate::{Error, Result};
use libloading::Library;
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

/// Where libraries are looked for, beside the loader's own path.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Folders that hold them.
    pub folders: Vec<PathBuf>,
    /// The version of CUDA that the process uses already: libraries of that version come first.
    pub major: Option<u32>,
}

/// Where toolkits are installed.
const TOOLKITS: [&str; 2] = ["/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib"];

/// Where libraries come from.
pub(crate) const DRIVER_HINT: &str = "it comes with NVIDIA's driver, which this machine does not have";
pub(crate) const JPEG_HINT: &str = "it comes with the CUDA toolkit, and with: pip install nvidia-nvjpeg";
pub(crate) const COMPILER_HINT: &str = "it comes with PyTorch's own packages and with the CUDA toolkit";

/// Versions that are known to have the functions that are used here, the newest first.
const MAJORS: [u32; 3] = [13, 12, 11];

impl Places {
    /// The names of a library, the best first.
    fn names(&self, name: &str) -> Vec<String> {
        let mut majors = MAJORS.to_vec();
        if let Some(used) = self.major {
            majors.retain(|major| *major != used);
            majors.insert(0, used);
        }
        majors.iter().map(|major| format!("{name}.{major}")).chain([name.to_owned()]).collect()
    }

    /// What is tried, in order: per version the loader's path, then the folders.
    fn candidates(&self, name: &str) -> Vec<PathBuf> {
        let folders = self.folders.iter().cloned().chain(TOOLKITS.iter().map(PathBuf::from));
        let folders: Vec<PathBuf> = folders.collect();
        let mut out = vec![];
        for name in self.names(name) {
            out.push(PathBuf::from(&name));
            out.extend(folders.iter().map(|folder| folder.join(&name)).filter(|path| path.is_file()));
        }
        out
    }

    /// What of all that is needed is missing, in words. Touches no device.
    pub fn missing(&self) -> Option<String> {
        let needed =
            [("libcuda.so.1", DRIVER_HINT), ("libnvjpeg.so", JPEG_HINT), ("libnvrtc.so", COMPILER_HINT)];
        needed.iter().find_map(|(name, hint)| match self.load(name, hint) {
            Ok(library) => {
                std::mem::forget(library);
                None
            }
            Err(error) => Some(error.to_string()),
        })
    }

    /// Loads a library. It stays loaded: code of CUDA does not survive being unloaded.
    pub(crate) fn load(&self, name: &str, hint: &str) -> Result<Library> {
        let mut why = String::new();
        for path in self.candidates(name) {
            match load(&path) {
                Ok(library) => return Ok(library),
                Err(error) if path.is_absolute() => {
                    let _ = write!(why, "; {}: {error}", path.display());
                }
                Err(_) => {}
            }
        }
        let looked: Vec<String> = self.folders.iter().map(|folder| folder.display().to_string()).collect();
        let beside = if looked.is_empty() { String::new() } else { format!(", {}", looked.join(", ")) };
        Err(Error::Missing(format!(
            "{name} was not found: looked on the loader's path{beside} and in {}{why}; {hint}",
            TOOLKITS[0]
        )))
    }
}

fn load(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: these are NVIDIA's libraries, by their names; loading them runs their own initialisers alone.
    unsafe { Library::new(path) }
}

/// Makes a table of functions of a library.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($name:ident = $symbol:literal ($($arg:ty),*);)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> std::ffi::c_int,)*
        }

        impl $table {
            /// Finds all functions. The library is never unloaded, so they stay valid.
            pub(crate) fn of(library: libloading::Library) -> crate::Result<Self> {
                let table = $table {
                    $($name: {
                        type Function = unsafe extern "C" fn($($arg),*) -> std::ffi::c_int;
                        // SAFETY: the type is that of the function in the library's header.
                        let found = unsafe { library.get::<Function>(concat!($symbol, "\0").as_bytes()) };
                        *found.map_err(|_| crate::Error::Missing(format!(
                            "{} is not in the library that was found: it is too old", $symbol
                        )))?
                    },)*
                };
                std::mem::forget(library);
                Ok(table)
            }
        }
    };
}
pub(crate) use functions;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_in_use_comes_first() {
        let places = Places { major: Some(12), ..Places::default() };
        assert_eq!(places.names("libx.so"), ["libx.so.12", "libx.so.13", "libx.so.11", "libx.so"]);
        assert_eq!(Places::default().names("libx.so")[0], "libx.so.13");
    }

    #[test]
    fn what_is_missing_is_named_with_the_places() {
        let places = Places { folders: vec!["/nowhere/lib".into()], major: None };
        let error = places.load("libinfeed-none.so", "install it").unwrap_err().to_string();
        for part in ["libinfeed-none.so", "/nowhere/lib", "/usr/local/cuda", "install it"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_loaded_says_why() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("libinfeed-none.so.12"), "no library").unwrap();
        let places = Places { folders: vec![folder.path().to_owned()], major: None };
        let error = places.load("libinfeed-none.so", "").unwrap_err().to_string();
        assert!(error.contains("libinfeed-none.so.12: "), "{error}");
    }
}
