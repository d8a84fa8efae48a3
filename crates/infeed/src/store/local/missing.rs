//! The error for a path that does not exist.

use infeed_core::{Error, registry::nearest};
use std::path::Path;

/// Names that are compared to find a typo; a folder of a million images is not searched for one.
const LOOK_AT: usize = 1_000;

/// Returns an [`Error::NotFound`] that says which part of the path exists, and which name is similar.
pub(crate) fn missing(path: &Path) -> Error {
    let mut hint = String::new();
    // `ancestors` of a relative path ends with the empty path, which stands for the current folder.
    let parents = path.ancestors().skip(1).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let mut child = path.file_name();
    for parent in parents {
        if parent.exists() {
            hint = format!("; the nearest folder that exists is `{}`", parent.display());
            let wanted = child.map(|c| c.to_string_lossy().into_owned()).unwrap_or_default();
            if !parent.is_dir() {
                hint = format!("; `{}` is a file, not a folder", parent.display());
            } else if let Some(near) = near(parent, &wanted) {
                hint.push_str(&format!(", which has `{near}`"));
            }
            break;
        }
        child = parent.file_name();
    }
    Error::NotFound { path: path.display().to_string(), hint }
}

/// Returns a name in `folder` that is a typo away from `wanted`.
fn near(folder: &Path, wanted: &str) -> Option<String> {
    let entries = std::fs::read_dir(folder).ok()?.take(LOOK_AT);
    let names: Vec<String> =
        entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).filter(|n| n != wanted).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    nearest(wanted, &names).map(str::to_owned)
}
