//! Files that are rows: image folders, lists of files, manifests.
//!
//! There is nothing to index, so there is no [`Format`](infeed_core::Format): the list of names is the data set. A row
//! has a field of the file's bytes, `image` for images, and, if the source has classes, `label` (an integer). Names are stored in
//! one block of memory. Sizes are looked up when a file is read: a million lookups in advance would take too long.

mod classes;
mod entries;
mod kinds;
mod manifest;
mod metadata;
mod names;
mod stamps;

pub(super) use entries::{FILES, FOLDER, MANIFEST};
pub(super) use names::Names;

use bytes::Bytes;
use infeed_core::{
    Cache, Dtype, Error, FieldSpec, Record, Result, Source, Spec, Store, StoreExt, Tensor, Value,
};
pub use kinds::Endings;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The extensions of images: torchvision's list, so that a folder has the same rows in both.
pub const EXTENSIONS: [&str; 9] = [".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"];

/// Assumed size of a file before the first one has been read: an average photograph.
const GUESS: u64 = 128 << 10;

/// Whether a name has the extension of an image, in upper or lower case.
pub fn is_image(name: &str) -> bool {
    let bytes = name.as_bytes();
    EXTENSIONS.iter().any(|extension| {
        let tail = bytes.len().checked_sub(extension.len()).map(|at| &bytes[at..]);
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(extension.as_bytes()))
    })
}

/// Where labels come from.
#[derive(Debug)]
enum Labels {
    None,
    /// The first row of each class.
    Runs(Vec<u64>),
    /// One per row.
    Each(Vec<i64>),
}

/// Whole files as rows.
#[derive(Debug)]
pub struct FolderSource {
    store: Arc<dyn Store>,
    /// The prefix of relative names: empty, or a folder that ends in `/`.
    root: String,
    names: Names,
    /// The field of the files' bytes.
    field: Arc<str>,
    labels: Labels,
    classes: Vec<String>,
    spec: Spec,
    rows: [u64; 1],
    kind: &'static str,
    /// Files read and their bytes, for [`Source::row_bytes`].
    files: AtomicU64,
    bytes: AtomicU64,
    /// Stamps of files that are far away, by row.
    stamps: stamps::Known,
}

impl FolderSource {
    /// Opens a folder of images: with class folders if there are images in sub-folders, flat otherwise. `names` are all
    /// names below `root`; those of sub-folders end in `/`.
    pub fn open(store: Arc<dyn Store>, root: &str, names: Vec<String>) -> Result<Self> {
        Self::of(store, root, names, &Endings::Images)
    }

    /// Opens a folder of files with some endings, like [`FolderSource::open`].
    pub fn of(store: Arc<dyn Store>, root: &str, names: Vec<String>, endings: &Endings) -> Result<Self> {
        let deep = below(root, &names).any(|name| name.contains('/') && endings.has(name));
        let open = if deep { Self::class_folders } else { Self::flat };
        open(store, root, names, endings)
    }

    /// Opens files in class folders: the label of `root/cat/1.jpg` is the index of `cat` among the sub-folders of
    /// `root`.
    pub fn class_folders(
        store: Arc<dyn Store>,
        root: &str,
        names: Vec<String>,
        endings: &Endings,
    ) -> Result<Self> {
        let names = below(root, &names).map(str::to_owned).collect();
        let found = classes::classes(root, names, endings)?;
        let names = found.names.iter().map(String::as_str).collect();
        let source = Self::new(store, root, names, Labels::Runs(found.starts), "image folder")?;
        Ok(FolderSource { classes: found.classes, ..source })
    }

    /// Opens all files below a folder, sorted by name, without labels.
    pub fn flat(store: Arc<dyn Store>, root: &str, names: Vec<String>, endings: &Endings) -> Result<Self> {
        let mut found: Vec<&str> = below(root, &names).filter(|name| endings.has(name)).collect();
        found.sort_unstable();
        if found.is_empty() {
            let hint = format!("; there is {}", endings.words());
            return Err(Error::NotFound { path: root.to_owned(), hint });
        }
        Self::new(store, root, found.into_iter().collect(), Labels::None, "folder of images")
    }

    /// Opens these files in this order, whatever their extensions, without labels.
    pub fn files(store: Arc<dyn Store>, names: &[String]) -> Result<Self> {
        Self::new(store, "", names.iter().map(String::as_str).collect(), Labels::None, "list of files")
    }

    /// Opens files of these names below a folder, in this order, without labels.
    pub(super) fn below(store: Arc<dyn Store>, root: &str, names: Names) -> Result<Self> {
        Self::new(store, root, names, Labels::None, "list of files")
    }

    /// Opens the files that a manifest lists; relative paths start at the manifest's folder.
    pub fn manifest(store: Arc<dyn Store>, name: &str) -> Result<Self> {
        let bytes = store.read_all(&store.stat_one(name)?)?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            let line = 1 + bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count();
            Error::argument(format!("manifest `{name}`, line {line}: it is not UTF-8 text"))
        })?;
        let found = manifest::parse(name, text)?;
        let root =
            name.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder });
        let labels = found.labels.map_or(Labels::None, Labels::Each);
        let names = found.names.iter().map(String::as_str).collect();
        let source = Self::new(store, root, names, labels, "manifest")?;
        Ok(FolderSource { classes: found.classes, ..source })
    }

    fn new(
        store: Arc<dyn Store>,
        root: &str,
        names: Names,
        labels: Labels,
        kind: &'static str,
    ) -> Result<Self> {
        let rows = names.len() as u64;
        if rows == 0 {
            return Err(Error::argument("there are no files to read"));
        }
        let every = (0..names.len()).filter_map(|row| names.get(row));
        let field: Arc<str> = kinds::field_of(every).into();
        let mut fields = vec![(Arc::clone(&field), FieldSpec::encoded())];
        if !matches!(labels, Labels::None) {
            fields.push(("label".into(), FieldSpec::scalar(Dtype::I64)));
        }
        Ok(FolderSource {
            store,
            root: base(root),
            names,
            field,
            labels,
            classes: Vec::new(),
            spec: Spec { fields },
            rows: [rows],
            kind,
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            stamps: stamps::Known::default(),
        })
    }

    /// Gives the field of the files' bytes another name.
    pub fn named(mut self, field: &str) -> Result<Self> {
        if field.is_empty() || self.spec.fields[1..].iter().any(|(name, _)| **name == *field) {
            return Err(Error::argument(format!(
                "field=`{field}`: there is such a field, or it has no name"
            )));
        }
        self.field = field.into();
        self.spec.fields[0].0 = Arc::clone(&self.field);
        Ok(self)
    }

    /// Returns the name of a row's file.
    fn file(&self, row: u64) -> Result<String> {
        let name = usize::try_from(row).ok().and_then(|row| self.names.get(row));
        let name = name
            .ok_or_else(|| Error::argument(format!("there is no row {row}: there are {}", self.rows[0])))?;
        Ok(if name.starts_with('/') { name.to_owned() } else { format!("{}{name}", self.root) })
    }

    fn label(&self, row: u64) -> Option<i64> {
        match &self.labels {
            Labels::None => None,
            Labels::Runs(starts) => Some(starts.partition_point(|start| *start <= row) as i64 - 1),
            Labels::Each(labels) => labels.get(row as usize).copied(),
        }
    }

    /// Reads the whole files of these rows.
    fn read(&self, rows: &[u64]) -> Result<Vec<Bytes>> {
        let names = rows.iter().map(|row| self.file(*row)).collect::<Result<Vec<_>>>()?;
        let files = self.store.stat(&names)?;
        self.files.fetch_add(files.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(files.iter().map(|f| f.size).sum(), Ordering::Relaxed);
        files.iter().map(|file| self.store.read_all(file)).collect()
    }
}

impl Source for FolderSource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    /// One element: a list with an entry per row would hold no more information.
    fn shard_rows(&self) -> &[u64] {
        &self.rows
    }

    fn shard_of(&self, row: u64) -> String {
        self.file(row).unwrap_or_default()
    }

    fn stamps(&self, rows: &[u64], fields: &[Arc<str>]) -> Option<Vec<Option<u128>>> {
        let read = fields.contains(&self.field);
        Some(rows.iter().map(|row| self.stamp(*row, read)).collect())
    }

    fn key(&self, row: u64) -> String {
        usize::try_from(row).ok().and_then(|row| self.names.get(row)).unwrap_or_default().to_owned()
    }

    /// The average size of the files read so far.
    fn row_bytes(&self, _row: u64, fields: &[Arc<str>]) -> u64 {
        if !fields.contains(&self.field) {
            return 8;
        }
        self.bytes.load(Ordering::Relaxed).checked_div(self.files.load(Ordering::Relaxed)).unwrap_or(GUESS)
    }

    fn fetch(&self, rows: &[u64], fields: &[Arc<str>]) -> Result<Vec<Record>> {
        // Labels alone need no file.
        let files = if fields.contains(&self.field) { self.read(rows)? } else { Vec::new() };
        let record = |(at, row): (usize, &u64)| {
            let value = |field: &Arc<str>| match &**field {
                name if *name == *self.field => files.get(at).cloned().map_or(Value::Missing, Value::Bytes),
                "label" => self.label(*row).map_or(Value::Missing, |label| Value::Tensor(Tensor::int(label))),
                _ => Value::Missing,
            };
            Record { fields: fields.iter().map(value).collect() }
        };
        Ok(rows.iter().enumerate().map(record).collect())
    }

    fn network(&self) -> Option<&'static str> {
        self.store.network(&self.file(0).ok()?)
    }

    fn room_ahead(&self) -> Option<u64> {
        self.store.room_ahead()
    }

    fn ahead_for(&self, run: u64, step: u64, done: u64) {
        self.store.ahead_for(run, step, done);
    }

    fn forget_ahead(&self) {
        self.store.forget_ahead();
    }

    fn caches(&self) -> Vec<&dyn Cache> {
        self.store.cache().into_iter().collect()
    }

    fn will_fetch(&self, rows: &[u64], fields: &[Arc<str>]) {
        if !fields.contains(&self.field) {
            return;
        }
        // Only a hint: a missing file is reported when it is fetched.
        for name in rows.iter().filter_map(|row| self.file(*row).ok()) {
            if let Ok(file) = self.store.stat_one(&name) {
                self.store.will_read(&file, std::slice::from_ref(&(0..file.size)));
            }
        }
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Labels are known. Sizes are looked up file by file, which takes microseconds each.
    fn column(&self, name: &str) -> Result<Option<Vec<i64>>> {
        let rows = 0..self.rows[0];
        match name {
            "label" => Ok(rows.map(|row| self.label(row)).collect()),
            "bytes" => {
                let names = rows.map(|row| self.file(row)).collect::<Result<Vec<_>>>()?;
                Ok(Some(self.store.stat(&names)?.iter().map(|file| file.size as i64).collect()))
            }
            _ => Ok(None),
        }
    }

    fn describe(&self) -> String {
        let place = if self.root.is_empty() { String::new() } else { format!(" in `{}`", self.root) };
        let classes = match self.classes.len() {
            0 => String::new(),
            n => format!(" of {n} classes"),
        };
        format!("{} of {} rows{classes}{place}", self.kind, self.rows[0])
    }
}

/// Returns a folder's name as a prefix of the names in it.
fn base(folder: &str) -> String {
    if folder.is_empty() || folder.ends_with('/') { folder.to_owned() } else { format!("{folder}/") }
}

/// Returns the names below a folder, relative to it.
fn below<'a>(root: &str, names: &'a [String]) -> impl Iterator<Item = &'a str> {
    let base = base(root);
    names.iter().filter_map(move |name| name.strip_prefix(&*base)).filter(|name| !name.is_empty())
}

/// Whether a text lists images.
pub(super) fn is_manifest(text: &str) -> bool {
    manifest::looks_like_one(text)
}

#[cfg(test)]
mod tests;
