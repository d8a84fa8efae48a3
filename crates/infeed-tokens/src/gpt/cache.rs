//! Cache files of GPT samples, named and written as by Megatron.
//!
//! `<md5 of a description>` with `.dsc` (the description), `_doc_idx.npy` (i32), `_sample_idx.npy` (i64 or i32, two
//! columns) and `_shuffle_idx.npy` (u32, or i64 when there are very many). Two descriptions are in use, with and
//! without the number of epochs; files of either are read, and the one with epochs is written. Files are not trusted:
//! lengths must match the corpus, and every entry is checked.

use super::{Ask, Epochs, Samples};
use crate::{element, npy, writer::replace};
use infeed_core::{Dtype, Error, Result};
use infeed_records::npy::Header;
use md5::{Digest, Md5};
use std::{io::Write, path::Path};

/// Identifies a set of cache files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The prefix of the corpus, as the user wrote it.
    pub prefix: String,
    /// `train`, `valid` or `test`.
    pub name: String,
    /// The split as the user wrote it.
    pub split: Option<String>,
}

impl Description {
    /// Returns the text of `.dsc`.
    pub fn text(&self, ask: &Ask, epochs: Option<u64>) -> String {
        let epochs = epochs.map(|n| format!("Number of epochs {n}\n")).unwrap_or_default();
        format!(
            "GPT Dataset\n\nData prefix {}\nDataset name {}\nNumber of samples {}\n{epochs}Sequence length {}\nRandom seed \
             {}\nSplit {}\n",
            self.prefix,
            self.name,
            ask.samples,
            ask.length,
            ask.seed,
            self.split.as_deref().unwrap_or("None")
        )
    }
}

/// Returns the stem of the names of cache files.
fn hash(text: &str) -> String {
    Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

const ENDINGS: [&str; 4] = [".dsc", "_doc_idx.npy", "_sample_idx.npy", "_shuffle_idx.npy"];

/// Reads the samples from their cache files in `folder`, or builds them and writes the files if there are none.
pub fn find_or_build(
    folder: &str,
    about: &Description,
    ask: &Ask,
    size: impl Fn(u64) -> u64,
) -> Result<Samples> {
    let epochs = ask.epochs(&size)?;
    ask.check(&epochs)?;
    let texts = [about.text(ask, Some(epochs.epochs)), about.text(ask, None)];
    for text in &texts {
        let stem = Path::new(folder).join(hash(text));
        let paths = ENDINGS.map(|ending| format!("{}{ending}", stem.display()));
        if paths.iter().all(|path| Path::new(path).is_file()) {
            return read(&paths, text, ask, &epochs, &size);
        }
    }
    let samples = Samples::build(ask, &size)?;
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))?;
    write(folder, &texts[0], &samples)?;
    Ok(samples)
}

fn write(folder: &str, text: &str, samples: &Samples) -> Result<()> {
    let stem = Path::new(folder).join(hash(text));
    let path = |ending: usize| format!("{}{}", stem.display(), ENDINGS[ending]);
    let numbers = samples.documents.iter().map(|d| d.to_le_bytes());
    array(&path(1), Dtype::I32, &[samples.documents.len()], numbers)?;
    let starts = samples.starts.iter().flatten().map(|n| i64::from(*n).to_le_bytes());
    array(&path(2), Dtype::I64, &[samples.starts.len(), 2], starts)?;
    let shuffle = samples.shuffle.iter().map(|n| n.to_le_bytes());
    array(&path(3), Dtype::U32, &[samples.shuffle.len()], shuffle)?;
    // Written last: a reader needs all four files, so they are complete once this one exists.
    replace(&path(0), |out| out.write_all(text.as_bytes()))
}

fn array<const N: usize>(
    path: &str,
    dtype: Dtype,
    shape: &[usize],
    numbers: impl Iterator<Item = [u8; N]>,
) -> Result<()> {
    replace(path, |out| {
        out.write_all(&Header::write(dtype, shape))?;
        let mut block = Vec::with_capacity(1 << 16);
        for number in numbers {
            block.extend_from_slice(&number);
            if block.len() + N > 1 << 16 {
                out.write_all(&block)?;
                block.clear();
            }
        }
        out.write_all(&block)
    })
}

fn read(
    paths: &[String; 4],
    text: &str,
    ask: &Ask,
    epochs: &Epochs,
    size: impl Fn(u64) -> u64,
) -> Result<Samples> {
    let said = std::fs::read(&paths[0]).map_err(|e| Error::io("read", &*paths[0], e))?;
    if said != text.as_bytes() {
        return Err(stale(&paths[0], "it describes other samples"));
    }
    let per_epoch = ask.documents.end - ask.documents.start;
    let documents = load(&paths[1], &[Dtype::I32, Dtype::I64], &[per_epoch * epochs.epochs], |n| {
        (n >= ask.documents.start && n < ask.documents.end).then_some(n as i32)
    })?;
    let columns = [epochs.samples + 1, 2];
    let flat = load(&paths[2], &[Dtype::I32, Dtype::I64], &columns, |n| u32::try_from(n).ok())?;
    let starts = flat.as_chunks::<2>().0.to_vec();
    for (i, [place, token]) in starts.iter().enumerate() {
        let inside = |d: &i32| u64::from(*token) < size(*d as u64);
        // The first sample begins with the first document, even if that is empty.
        let known = documents.get(*place as usize).is_some_and(inside) || i == 0;
        let follows = if i == 0 { [*place, *token] == [0, 0] } else { starts[i - 1] <= [*place, *token] };
        if !known || !follows {
            return Err(stale(&paths[2], &format!("sample {i} begins at token {token} of place {place}")));
        }
    }
    let types = [Dtype::U32, Dtype::I64];
    let shuffle = load(&paths[3], &types, &[epochs.samples], |n| (n < epochs.samples).then_some(n as u32))?;
    let mut seen = vec![false; shuffle.len()];
    for sample in &shuffle {
        if std::mem::replace(&mut seen[*sample as usize], true) {
            return Err(stale(&paths[3], &format!("sample {sample} comes twice")));
        }
    }
    Ok(Samples { documents, starts, shuffle })
}

fn stale(path: &str, what: &str) -> Error {
    let what = format!(
        "{what}: the cache does not belong to this corpus, or is damaged. Delete it, and it is made anew, or give another \
         cache folder"
    );
    Error::Format { shard: path.to_owned(), offset: 0, what }
}

/// Reads the numbers of an array of this shape. `take` rejects invalid ones.
fn load<T>(path: &str, types: &[Dtype], shape: &[u64], take: impl Fn(u64) -> Option<T>) -> Result<Vec<T>> {
    let held = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
    let header = npy::header(&held, held.len() as u64, path)?;
    if !header.shape.iter().map(|n| *n as u64).eq(shape.iter().copied())
        || !types.contains(&header.dtype)
        || header.fortran
    {
        let what = format!("an array of {}{:?} instead of {}{shape:?}", header.dtype, header.shape, types[0]);
        return Err(stale(path, &what));
    }
    let bytes = &held[header.data_at..];
    let count = shape.iter().product::<u64>() as usize;
    let mut out = Vec::with_capacity(count);
    for (i, element) in bytes.chunks_exact(header.dtype.size()).take(count).enumerate() {
        let number = element::read(header.dtype, element);
        let taken = u64::try_from(number).ok().and_then(&take);
        out.push(taken.ok_or_else(|| stale(path, &format!("entry {i} is {number}")))?);
    }
    Ok(out)
}
