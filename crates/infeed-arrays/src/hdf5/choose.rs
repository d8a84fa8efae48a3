//! Which data sets of a file become fields.

use super::{array, error::at_opening};
use crate::{
    array::{Dimensions, NamedArrays, SCALING_NAMES, Scaling},
    lengths::{by_length, notes},
    open::missing,
};
use infeed_core::{Error, Result};
use infeed_hdf5::{Attribute, Class, Dataset, Entry, File, Kind, Value};
use std::{collections::BTreeMap, sync::Arc};

/// How netCDF-4 marks data sets without values.
const LENGTH_ALONE: &str = "This is a netCDF dimension but not a netCDF variable";

/// The arrays of a file, or of one of its groups.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) group: Option<String>,
    pub(super) arrays: NamedArrays,
    pub(super) dimensions: Dimensions,
}

/// What is taken of every file.
pub(super) struct Chooser {
    rows: &'static str,
    axis: i64,
    /// Paths without the first slash; within a group for `rows="group"`. `None` means all data sets.
    names: Option<Vec<String>>,
    /// Data sets of another length, which were left out.
    others: Vec<String>,
    /// Whether attributes change values.
    scale: bool,
}

impl Chooser {
    pub(super) fn new(rows: &'static str, axis: i64, names: Option<Vec<String>>, scale: bool) -> Self {
        let bare = |name: String| name.trim_matches('/').to_owned();
        let names = names.map(|all| all.into_iter().map(bare).collect());
        Chooser { rows, axis, names, others: vec![], scale }
    }

    /// Settles what is taken, by the first file, if nobody said it.
    pub(super) fn settle(mut self, file: &File, name: &str) -> Result<Self> {
        if self.names.is_some() {
            return Ok(self);
        }
        let listed = Listed::new(file, name)?.without_lengths()?;
        let paths: Vec<String> = listed.paths().map(str::to_owned).collect();
        if paths.is_empty() {
            return Err(Error::argument(format!("`{name}`: there is no data set in it")));
        }
        self.names = Some(match self.rows {
            "axis" => self.by_length(&listed)?,
            "group" => {
                let group = |path: &String| path.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
                // Data sets beside the groups belong to none of them.
                let first = paths.iter().map(group).find(|group| !group.is_empty()).unwrap_or_default();
                let own = paths.iter().filter(|path| group(path) == first);
                own.filter_map(|path| path.rsplit('/').next().map(str::to_owned)).collect()
            }
            _ => paths,
        });
        Ok(self)
    }

    /// The data sets whose axis has the length that most of them have.
    fn by_length(&mut self, all: &Listed<'_>) -> Result<Vec<String>> {
        let shape = |(path, entry): (&String, &Entry)| {
            let found = all.file.listed(entry).map_err(|e| at_opening(all.name, e))?;
            Ok((path.clone(), found.space.shape))
        };
        let found = by_length(all.name, "data set", self.axis, all.entries.iter().map(shape))?;
        self.others = found.others;
        Ok(found.taken)
    }

    /// What `explain` says of what was left out.
    pub(super) fn notes(&self) -> String {
        notes(&self.others)
    }

    /// Opens the arrays of a file: one set of them, or one for each group, with its path.
    pub(super) fn arrays(&self, file: &Arc<File>, name: &str) -> Result<Vec<Chosen>> {
        let names = self.names.as_deref().unwrap_or_default();
        let all = Listed::new(file, name)?;
        if self.rows != "group" {
            return Ok(vec![self.open(file, &all, "", names)?]);
        }
        let mut groups: Vec<&str> =
            all.paths().filter_map(|path| path.rsplit_once('/')).map(|(group, _)| group).collect();
        groups.push("");
        groups.sort_unstable();
        groups.dedup();
        let has = |group: &&str, wanted: &String| {
            let path = if group.is_empty() { wanted.clone() } else { format!("{group}/{wanted}") };
            // `x.member` is in the data set `x`.
            let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
            ends.into_iter().any(|end| all.entries.contains_key(&path[..end]))
        };
        let groups: Vec<&str> =
            groups.into_iter().filter(|group| names.iter().all(|wanted| has(group, wanted))).collect();
        if groups.is_empty() {
            return Err(Error::argument(format!(
                "`{name}`: no group has the data sets {}; there are: {}",
                names.join(", "),
                all.paths().take(20).collect::<Vec<_>>().join(", ")
            )));
        }
        let one = |group: &str| {
            let found = self.open(file, &all, group, names)?;
            Ok(Chosen { group: Some(format!("/{group}")), ..found })
        };
        file.together(groups.len(), |at| one(groups[at]))
    }

    fn open(&self, file: &Arc<File>, all: &Listed<'_>, group: &str, names: &[String]) -> Result<Chosen> {
        let (name, mut out) = (all.name, Chosen::default());
        for wanted in names {
            let path = if group.is_empty() { wanted.clone() } else { format!("{group}/{wanted}") };
            let (dataset, prefix) = all.find(&path)?;
            let whole = array::members(&dataset.datatype);
            // A member alone, or all of them.
            let chosen: Vec<&String> = match prefix.as_deref() {
                None => whole.iter().collect(),
                Some(prefix) => {
                    let inside = |own: &&String| {
                        own.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                    };
                    whole.iter().filter(inside).collect()
                }
            };
            if chosen.is_empty() {
                let place = format!("`{name}`: {}", dataset.path);
                return Err(missing(&place, &prefix.unwrap_or_default(), whole.iter().map(String::as_str)));
            }
            let bare = match &prefix {
                Some(prefix) => wanted[..wanted.len() - prefix.len() - 1].to_owned(),
                None => wanted.clone(),
            };
            let dimensions = all.dimensions(&dataset.path)?;
            let attributes = all.attributes(&dataset.path)?;
            let texts = texts(file, name, &attributes)?;
            for member in chosen {
                let field = if member.is_empty() { bare.clone() } else { format!("{bare}.{member}") };
                let array = array::open(file, name, dataset.clone(), member)?;
                // Members of compounds have no attributes of their own.
                let scale = self.scale && member.is_empty();
                let array = if scale { scaling(file, name, &attributes)?.apply(array) } else { array };
                let field: Arc<str> = Arc::from(field);
                out.dimensions.insert(Arc::clone(&field), dimensions.clone());
                if member.is_empty() {
                    out.dimensions.count_in(&field, |name| {
                        texts.iter().find(|(own, _)| own == name).map(|(_, text)| text.clone())
                    });
                }
                out.arrays.push((field, array));
            }
        }
        Ok(out)
    }
}

/// What the attributes of a data set say about its values.
fn scaling(file: &File, name: &str, attributes: &[Attribute]) -> Result<Scaling> {
    let failed = |e| at_opening(name, e);
    let mut known: Vec<(&str, Vec<f64>)> = Vec::new();
    for attribute in attributes {
        if SCALING_NAMES.contains(&attribute.name.as_str()) {
            let numbers = match file.value(attribute).map_err(failed)? {
                Value::Floats(values) => values,
                Value::Integers(values) => values.into_iter().map(|value| value as f64).collect(),
                _ => Vec::new(),
            };
            known.push((&attribute.name, numbers));
        }
    }
    Ok(Scaling::of(|name| {
        known.iter().find(|(own, _)| *own == name).map_or_else(Vec::new, |(_, numbers)| numbers.clone())
    }))
}

/// The attributes of a data set that say what its values are counted in.
fn texts(file: &File, name: &str, attributes: &[Attribute]) -> Result<Vec<(String, String)>> {
    let mut out = Vec::new();
    for attribute in attributes {
        if matches!(attribute.name.as_str(), "units" | "calendar")
            && let Value::Texts(texts) = file.value(attribute).map_err(|e| at_opening(name, e))?
            && let Some(text) = texts.into_iter().next()
        {
            out.push((attribute.name.clone(), text));
        }
    }
    Ok(out)
}

/// The data sets of a file.
struct Listed<'a> {
    file: &'a File,
    name: &'a str,
    /// By path without the first slash, in order.
    entries: BTreeMap<String, Entry>,
}

impl<'a> Listed<'a> {
    fn new(file: &'a File, name: &'a str) -> Result<Self> {
        let entries = file.list().map_err(|e| at_opening(name, e))?;
        let own = entries.into_iter().filter(|entry| entry.kind == Kind::Dataset);
        let own = own.map(|entry| (entry.path.trim_start_matches('/').to_owned(), entry));
        Ok(Listed { file, name, entries: own.collect() })
    }

    /// Leaves out what stands for a length alone: netCDF-4 writes a data set for each dimension, also for those without values.
    fn without_lengths(mut self) -> Result<Self> {
        let paths: Vec<String> = self.entries.keys().cloned().collect();
        let is_length = self.file.together(paths.len(), |at| {
            let attributes = self.attributes(&paths[at])?;
            let Some(label) = attributes.iter().find(|attribute| attribute.name == "NAME") else {
                return Ok::<bool, Error>(false);
            };
            let value = self.file.value(label).map_err(|e| at_opening(self.name, e))?;
            let Value::Texts(texts) = value else { return Ok(false) };
            Ok(texts.first().is_some_and(|text| text.starts_with(LENGTH_ALONE)))
        })?;
        let mut is_length = is_length.into_iter();
        self.entries.retain(|_, _| is_length.next() != Some(true));
        Ok(self)
    }

    /// The attributes of a data set. It is not looked for from the root on, where that can be helped: groups can have many names.
    fn attributes(&self, path: &str) -> Result<Vec<Attribute>> {
        let found = match self.entries.get(path.trim_start_matches('/')) {
            Some(entry) => self.file.attributes_of(entry),
            None => self.file.attributes(path),
        };
        found.map_err(|e| at_opening(self.name, e))
    }

    fn paths(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A data set of a path, if there is one; soft links are followed.
    fn get(&self, path: &str) -> Result<Option<Dataset>> {
        let found = match self.entries.get(path) {
            Some(entry) => self.file.listed(entry),
            None => self.file.dataset(path),
        };
        match found {
            Err(infeed_hdf5::Error::NotFound(_)) => Ok(None),
            other => other.map(Some).map_err(|e| at_opening(self.name, e)),
        }
    }

    /// The names of the axes of a data set, as netCDF keeps them: each is the data set of that name. Empty if it has none.
    fn dimensions(&self, path: &str) -> Result<Vec<String>> {
        let failed = |e| at_opening(self.name, e);
        let attributes = self.attributes(path)?;
        let Some(list) = attributes.iter().find(|attribute| attribute.name == "DIMENSION_LIST") else {
            return Ok(Vec::new());
        };
        let Value::Objects(axes) = self.file.value(list).map_err(failed)? else { return Ok(Vec::new()) };
        let named = |address: &u64| {
            let found = self.entries.iter().find(|(_, entry)| entry.address == Some(*address));
            found.map(|(path, _)| path.rsplit('/').next().unwrap_or(path).to_owned())
        };
        Ok(axes.iter().map(|axis| axis.first().and_then(named).unwrap_or_else(|| "?".to_owned())).collect())
    }

    /// Finds a data set, or a member of one: `x`, `x.member`.
    fn find(&self, path: &str) -> Result<(Dataset, Option<String>)> {
        if let Some(found) = self.get(path)? {
            return Ok((found, None));
        }
        // Names can have dots of their own: the longest that is a compound wins.
        for (at, _) in path.rmatch_indices('.') {
            if let Some(found) = self.get(&path[..at])?
                && matches!(found.datatype.class, Class::Compound(_))
            {
                return Ok((found, Some(path[at + 1..].to_owned())));
            }
        }
        Err(missing(&format!("`{}`", self.name), path, self.paths()))
    }
}
