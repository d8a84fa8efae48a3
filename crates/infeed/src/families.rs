//! Names that belong to a feature of the crate.
//!
//! The tables of the stages only hold what was built. This one holds the names of the rest, so that the error about a
//! name in a recipe says which feature is missing.

use infeed_core::{Entry, Error, Result, registry};

/// What one feature of the crate adds.
struct Family {
    feature: &'static str,
    built: bool,
    formats: &'static [&'static str],
    /// File extensions of its formats.
    endings: &'static [&'static str],
    decoders: &'static [&'static str],
    transforms: &'static [&'static str],
}

const FAMILIES: &[Family] = &[
    Family {
        feature: "arrays",
        built: cfg!(feature = "arrays"),
        formats: &["npy", "npz", "safetensors", "pt", "memmap", "hdf5", "netcdf", "zarr", "root"],
        endings: &[
            ".npy",
            ".npz",
            ".safetensors",
            ".pt",
            ".pth",
            ".h5",
            ".hdf5",
            ".he5",
            ".nc4",
            ".nc",
            ".cdf",
            ".nc3",
            ".zarr",
            ".root",
        ],
        decoders: &[],
        transforms: &[],
    },
    Family {
        feature: "images",
        built: cfg!(feature = "images"),
        formats: &[],
        endings: &[],
        decoders: &["rgb", "gray", "stored", "mask"],
        transforms: &[
            "ColorJitter",
            "Grayscale",
            "RandomGrayscale",
            "GaussianBlur",
            "RandomRotation",
            "RandomAffine",
            "RandomPerspective",
            "RandAugment",
            "TrivialAugmentWide",
            "AutoAugment",
            "RandomPosterize",
            "RandomSolarize",
            "RandomAdjustSharpness",
            "RandomAutocontrast",
            "RandomEqualize",
        ],
    },
    Family {
        feature: "tables",
        built: cfg!(feature = "tables"),
        formats: &["parquet", "arrow", "avro", "sqlite", "csv_table"],
        endings: &[".parquet", ".pq", ".arrow", ".feather", ".ipc", ".avro", ".sqlite", ".sqlite3", ".db"],
        decoders: &[],
        transforms: &[],
    },
    Family {
        feature: "text",
        built: cfg!(feature = "text"),
        formats: &[],
        endings: &[],
        decoders: &[],
        transforms: &["Tokenize", "MaskTokens", "CorruptSpans"],
    },
    Family {
        feature: "tokens",
        built: cfg!(feature = "tokens"),
        formats: &["tokens"],
        endings: &[".idx", ".bin"],
        decoders: &[],
        transforms: &[],
    },
];

/// Finds an entry of a stage's table. The error lists the entries, or names the feature that has it.
pub(crate) fn find<'a, T: ?Sized>(table: &'a [&'a Entry<T>], name: &str, what: &str) -> Result<&'a Entry<T>> {
    registry::find(table, name, what).map_err(|error| missing(what, name).unwrap_or(error))
}

/// The error for a format, decoder or transform of a feature that was not built.
pub(crate) fn missing(what: &str, name: &str) -> Option<Error> {
    let family = FAMILIES.iter().find(|family| {
        let names = match what {
            "format" => family.formats,
            "decoder" => family.decoders,
            _ => family.transforms,
        };
        names.contains(&name)
    })?;
    Some(Error::argument(format!(
        "there is no {what} `{name}` in this build: it needs the feature `{}` of the crate infeed",
        family.feature
    )))
}

/// The error for a file whose format belongs to a feature that was not built.
pub(crate) fn missing_format_of(file: &str) -> Option<Error> {
    let family = FAMILIES
        .iter()
        .filter(|family| !family.built)
        .find(|family| family.endings.iter().any(|ending| infeed_core::opening::ends_with(file, ending)))?;
    Some(Error::argument(format!(
        "this build cannot read `{file}`: it needs the feature `{}` of the crate infeed",
        family.feature
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode, format, transform};

    /// Fails if a name was changed in its stage but not here.
    #[test]
    fn every_name_is_that_of_an_entry() {
        for family in FAMILIES {
            for name in family.formats {
                assert_eq!(format::entry(name).unwrap().name, *name);
            }
            for name in family.decoders {
                registry::find(decode::DECODERS, name, "decoder").unwrap();
            }
            for name in family.transforms {
                registry::find(&transform::entries(), name, "transform").unwrap();
            }
            for ending in family.endings {
                let known = format::entries().any(|entry| entry.endings.contains(ending));
                assert!(known, "no format has the ending {ending}");
            }
        }
    }

    #[test]
    fn the_feature_is_named() {
        let none: &[&Entry<dyn infeed_core::Transform>] = &[];
        let error = find(none, "Tokenize", "transform").unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no transform `Tokenize` in this build: it needs the feature `text` of the crate infeed"
        );
        let error = missing("format", "parquet").unwrap().to_string();
        assert!(error.contains("there is no format `parquet` in this build") && error.contains("`tables`"));
        // The same name in another stage means something else.
        assert!(missing("decoder", "parquet").is_none());
    }

    #[test]
    fn slips_are_still_slips() {
        let error = find(&transform::entries(), "Tokenise", "transform").unwrap_err().to_string();
        assert!(error.contains("did you mean `Tokenize`?"), "{error}");
        // Tests are built with all features, so no format is missing.
        assert!(missing_format_of("a.parquet").is_none());
    }
}
