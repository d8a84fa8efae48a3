//! Opens the files of a corpus and settles its rows.

use super::{Rows, TokenSource, position_type};
use crate::{
    ENTRY, Options, Sampling, TokenFile, element,
    gpt::{self, Ask, Description, Samples},
    options::PARTS,
    prefix_of,
};
use infeed_core::{Dim, Dtype, Error, FieldSpec, Result, Spec};
use std::{collections::HashSet, ops::Range};

impl TokenSource {
    /// Opens corpora by prefix, file or folder; see [`ENTRY`] for the arguments.
    pub fn open(paths: &[String], args: &serde_json::Map<String, serde_json::Value>) -> Result<TokenSource> {
        TokenSource::with(paths, *ENTRY.make(args)?)
    }

    /// Opens corpora by prefix, file or folder.
    pub fn with(paths: &[String], options: Options) -> Result<TokenSource> {
        let mut files = Vec::new();
        for path in names(paths)? {
            let file = TokenFile::open(&path, options.raw, options.read, options.drift)?;
            file.need_tokens()?;
            files.push(file);
        }
        let parts = files.iter().map(|file| part(file, &options)).collect::<Result<Vec<_>>>()?;
        let limits = files.iter().map(|file| limit(file, &options)).collect::<Result<Vec<_>>>()?;
        let mut begins = vec![0];
        for (sequences, file) in parts.iter().zip(&files) {
            let tokens = tokens(file, sequences);
            begins.push(begins.last().copied().unwrap_or(0) + (tokens.end - tokens.start));
        }
        let need = options.length + usize::from(options.labels || options.sampling == Sampling::Megatron);
        let len = if options.labels { options.length } else { need };
        let (rows, shard_rows) = match options.sampling {
            Sampling::Windows => {
                let stride = options.stride.unwrap_or(options.length as u64);
                (Rows::Windows { stride }, windows(&begins, stride, need as u64))
            }
            Sampling::Megatron => {
                let samples = samples(&files, &parts, &options)?;
                let rows = samples.len();
                (Rows::Gpt(samples), vec![rows])
            }
        };
        let parts = files.iter().zip(&parts).map(|(file, part)| tokens(file, part)).collect();
        let (spec, total) = (spec(&options, len), shard_rows.iter().sum());
        Ok(TokenSource { files, parts, begins, options, rows, len, need, limits, spec, shard_rows, total })
    }
}

/// The corpora that these paths stand for, each once, in order.
fn names(paths: &[String]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        if std::path::Path::new(path).is_dir() && !std::path::Path::new(&format!("{path}.idx")).exists() {
            let entries = std::fs::read_dir(path).map_err(|e| Error::io("list", path, e))?;
            let mut inside: Vec<String> = entries
                .filter_map(|entry| entry.ok()?.path().to_str().map(str::to_owned))
                .filter(|name| [".idx", ".bin", ".npy"].iter().any(|ending| name.ends_with(ending)))
                .collect();
            if inside.is_empty() {
                let hint = "; there is no .bin, .idx or .npy file in it".to_owned();
                return Err(Error::NotFound { path: path.clone(), hint });
            }
            inside.sort();
            out.extend(inside);
        } else {
            out.push(path.clone());
        }
    }
    // x.bin and x.idx are one corpus, whichever of them a pattern found.
    out.retain(|name| seen.insert(prefix_of(name).to_owned()));
    if out.is_empty() {
        return Err(Error::argument("there is no token file to read"));
    }
    Ok(out)
}

/// The sequences of a file that belong to the part; without an index, the whole file as sequence 0.
fn part(file: &TokenFile, options: &Options) -> Result<Range<u64>> {
    let sequences = file.index().map_or(1, |index| index.sequences());
    match &options.split {
        None => Ok(0..sequences),
        Some(_) if file.index().is_none() => Err(Error::argument(format!(
            "split needs documents, and `{}` has no index; .take(n) and .skip(n) split by rows",
            file.name()
        ))),
        Some(split) => Ok(gpt::split(split, sequences)?[options.part].clone()),
    }
}

/// The tokens of these sequences.
fn tokens(file: &TokenFile, sequences: &Range<u64>) -> Range<u64> {
    match file.index() {
        Some(index) => index.first_token(sequences.start)..index.first_token(sequences.end),
        None => 0..file.tokens(),
    }
}

/// The largest bits that are a token of this file, where not all are. Refuses types that tokens might not fit into.
fn limit(file: &TokenFile, options: &Options) -> Result<Option<u64>> {
    let (least, most) = element::range(file.dtype());
    let top = options.vocab.map_or(most, |vocab| most.min(i128::from(vocab) - 1));
    let (out_least, out_most) = element::range(options.dtype);
    let checked = options.vocab.is_some();
    if top > out_most || !checked && least < out_least {
        return Err(Error::argument(format!(
            "`{}` holds {} tokens, which may not fit dtype {}: take a wider one, or give the size of the vocabulary \
             (vocab=) if all ids fit",
            file.path(),
            file.dtype(),
            options.dtype
        )));
    }
    Ok((checked && (top < most || least < 0)).then_some(top as u64))
}

/// Rows that begin in each file.
fn windows(begins: &[u64], stride: u64, need: u64) -> Vec<u64> {
    let tokens = begins.last().copied().unwrap_or(0);
    let rows = if tokens < need { 0 } else { (tokens - need) / stride + 1 };
    let before = |token: u64| token.div_ceil(stride).min(rows);
    begins.windows(2).map(|ends| before(ends[1]) - before(ends[0])).collect()
}

fn samples(files: &[TokenFile], parts: &[Range<u64>], options: &Options) -> Result<Samples> {
    let ([file], [part]) = (files, parts) else {
        return Err(Error::argument(format!(
            "sampling=\"megatron\" takes one corpus, and there are {}: infeed.blend mixes several, and infeed.file_list \
             reads a list of them",
            files.len()
        )));
    };
    let Some(index) = file.index() else {
        return Err(Error::argument(format!(
            "sampling=\"megatron\" shuffles documents, and `{}` has no index; use sampling=\"windows\"",
            file.name()
        )));
    };
    let length = options.length as u64;
    let range = tokens(file, part);
    let whole = (range.end - range.start).saturating_sub(1) / length;
    let samples = options.samples.unwrap_or(whole);
    let ask = Ask { documents: part.clone(), samples, length, seed: options.seed };
    let size = |document| index.size(document);
    let about = Description {
        prefix: file.name().to_owned(),
        name: PARTS[options.part].to_owned(),
        split: options.split.clone(),
    };
    let made = match &options.cache {
        Some(folder) => gpt::find_or_build(folder, &about, &ask, size),
        None => Samples::build(&ask, size),
    };
    made.map_err(|e| match e {
        Error::Argument { what } => Error::argument(format!("`{}`: {what}", file.name())),
        other => other,
    })
}

fn spec(options: &Options, len: usize) -> Spec {
    let line = |dtype| FieldSpec::array(dtype, vec![Dim::Fixed(len)]);
    let mut fields = vec![("tokens".into(), line(options.dtype))];
    if options.labels {
        fields.push(("labels".into(), line(options.dtype)));
    }
    if options.position_ids {
        fields.push(("position_ids".into(), line(position_type(options.dtype))));
    }
    if options.loss_mask {
        fields.push(("loss_mask".into(), line(Dtype::F32)));
    }
    if options.document_ids {
        fields.push(("document_ids".into(), line(Dtype::I32)));
    }
    if options.attention_mask {
        let square = vec![Dim::Fixed(len), Dim::Fixed(len)];
        fields.push(("attention_mask".into(), FieldSpec::array(Dtype::Bool, square)));
    }
    Spec { fields }
}
