//! Class folders with images, as torchvision's `ImageFolder` reads them.

use crate::{JpegOptions, jpeg, photo};
use infeed_core::{Error, Result};
use std::path::{Path, PathBuf};

/// The contents of the folder: `class_000/000000.jpg` and so on.
#[derive(Debug, Clone)]
pub struct FolderSpec {
    /// Number of class folders.
    pub classes: u64,
    /// Number of images in each.
    pub per_class: u64,
    /// Width of each image.
    pub width: u32,
    /// Height of each image.
    pub height: u32,
    /// How the images are encoded.
    pub jpeg: JpegOptions,
    /// Seed of the images.
    pub seed: u64,
}

impl Default for FolderSpec {
    /// Two classes with five small images each.
    fn default() -> Self {
        FolderSpec { classes: 2, per_class: 5, width: 64, height: 48, jpeg: JpegOptions::default(), seed: 0 }
    }
}

/// Generates the folder and returns the paths of the images, class by class.
pub fn folder(dir: impl AsRef<Path>, spec: &FolderSpec) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for class in 0..spec.classes {
        let home = dir.as_ref().join(format!("class_{class:03}"));
        std::fs::create_dir_all(&home)
            .map_err(|e| Error::io("make the folder", home.to_string_lossy(), e))?;
        for n in 0..spec.per_class {
            let seed = spec.seed.wrapping_add(class * spec.per_class + n);
            let image = jpeg(&photo(spec.width, spec.height, seed), spec.width, spec.height, &spec.jpeg)?;
            let path = home.join(format!("{n:06}.jpg"));
            std::fs::write(&path, image).map_err(|e| Error::io("write", path.to_string_lossy(), e))?;
            paths.push(path);
        }
    }
    Ok(paths)
}
