//! Where the images and labels of a YOLO data set are.

use super::files::{join, stays_below};
use crate::format::{is_image, paths::listed};
use infeed_annotations::YoloData;
use infeed_core::{Error, Found, OpenRequest, Result, Store, StoreExt};

/// The images of a split.
#[derive(Debug, Default)]
pub(super) struct YoloFiles {
    /// Their complete names, sorted unless a list names them.
    pub(super) images: Vec<String>,
    /// Whether they are named by a list, and may be missing.
    pub(super) listed: bool,
    pub(super) names: Vec<String>,
    pub(super) keypoints: Option<(usize, usize)>,
    /// What was opened, for messages.
    pub(super) about: String,
}

/// Returns the name of an image's labels: `labels` in place of the last folder `images`, and another ending.
pub(super) fn label_file(image: &str) -> String {
    let swapped = match image.rfind("/images/") {
        Some(at) => format!("{}/labels/{}", &image[..at], &image[at + "/images/".len()..]),
        None => match image.strip_prefix("images/") {
            Some(rest) => format!("labels/{rest}"),
            None => image.to_owned(),
        },
    };
    let (folder, file) = swapped.rsplit_once('/').unwrap_or(("", &swapped));
    join(folder, &format!("{}.txt", file.rsplit_once('.').map_or(file, |(stem, _)| stem)))
}

/// Returns the innermost folder that all files are in, without a trailing `/`; empty if there is none.
pub(super) fn common_folder(names: &[String]) -> &str {
    let Some((first, rest)) = names.split_first() else { return "" };
    let mut common = first.rsplit_once('/').map_or("", |(folder, _)| folder);
    for name in rest {
        while !common.is_empty() && !name.strip_prefix(common).is_some_and(|below| below.starts_with('/')) {
            common = common.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
    }
    common
}

/// Finds the images of a split.
pub(super) fn find(request: &OpenRequest<'_>, split: &str) -> Result<YoloFiles> {
    let store = &**request.store;
    let found = request.find()?;
    let [one] = found.as_slice() else {
        return Err(Error::argument(format!(
            "`{}`: give one folder or one data.yaml",
            request.paths.join(", ")
        )));
    };
    match one {
        Found::File(name) => described(store, name, split),
        Found::Folder(folder) => {
            if !stays_below(split) {
                return Err(Error::argument(format!(
                    "split must be the name of a part of the data set, got `{split}`"
                )));
            }
            let names = listed(request, folder)?;
            for file in ["data.yaml", "data.yml", "dataset.yaml"] {
                let name = join(folder, file);
                if names.contains(&name) {
                    return described(store, &name, split);
                }
            }
            in_folder(folder, &names, split)
        }
    }
}

/// Images of a folder without a description.
fn in_folder(folder: &str, names: &[String], split: &str) -> Result<YoloFiles> {
    // Some tools call the part for validation so.
    let other = if split == "val" { "valid" } else { split };
    let places = [format!("images/{split}"), format!("{split}/images"), format!("{other}/images")];
    for place in &places {
        let base = format!("{}/", join(folder, place));
        let images: Vec<String> =
            names.iter().filter(|n| n.starts_with(&base) && is_image(n)).cloned().collect();
        if !images.is_empty() {
            return Ok(sorted(images, base.trim_end_matches('/')));
        }
    }
    let hint = format!("; it has neither a data.yaml nor images in {} or {}", places[0], places[1]);
    Err(Error::NotFound { path: folder.to_owned(), hint })
}

/// Images that a description names.
fn described(store: &dyn Store, name: &str, split: &str) -> Result<YoloFiles> {
    let data = YoloData::parse(name, &store.read_all(&store.stat_one(name)?)?, split)?;
    let home = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let stated = data.path.as_ref().map(|path| join(home, path));
    let mut all = YoloFiles { about: format!("{name}: {split}"), ..Default::default() };
    for entry in &data.images {
        // Descriptions are often moved beside their data without being changed.
        let bare = entry.trim_start_matches("../");
        let places =
            [stated.as_deref().unwrap_or(home), home].map(|root| [join(root, entry), join(root, bare)]);
        let mut found = None;
        for place in places.iter().flatten() {
            match store.find(place) {
                Ok(what) => {
                    found = Some(what);
                    break;
                }
                Err(Error::NotFound { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let Some(found) = found else {
            let hint = format!(
                "; `{name}` names it as images for `{split}`; correct `path` or `{split}` in that file"
            );
            return Err(Error::NotFound { path: places[0][0].clone(), hint });
        };
        for one in found {
            match one {
                Found::Folder(folder) => {
                    let base = format!("{}/", folder.trim_end_matches('/'));
                    let below = store.names(&folder)?.into_iter();
                    all.images.extend(below.filter(|name| name.starts_with(&base) && is_image(name)));
                }
                Found::File(list) => {
                    all.listed = true;
                    all.images.extend(read_list(store, &list)?);
                }
            }
        }
    }
    if all.images.is_empty() {
        let hint = format!("; there are no images for `{split}`");
        return Err(Error::NotFound { path: name.to_owned(), hint });
    }
    if !all.listed {
        all.images.sort_unstable();
    }
    Ok(YoloFiles { names: data.names, keypoints: data.keypoints, ..all })
}

/// A text file with the name of an image on each line, relative to its folder.
fn read_list(store: &dyn Store, list: &str) -> Result<Vec<String>> {
    let bytes = store.read_all(&store.stat_one(list)?)?;
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Error::argument(format!("`{list}` is not UTF-8 text")))?;
    let folder = list.rsplit_once('/').map_or("", |(folder, _)| folder);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let images: Vec<String> = lines.map(|line| join(folder, line)).collect();
    match images.iter().find(|name| !is_image(name)) {
        Some(other) => {
            Err(Error::argument(format!("`{list}` should list images, one per line, but has `{other}`")))
        }
        None => Ok(images),
    }
}

fn sorted(mut images: Vec<String>, about: &str) -> YoloFiles {
    images.sort_unstable();
    YoloFiles { images, about: about.to_owned(), ..Default::default() }
}
