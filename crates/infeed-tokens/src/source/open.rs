//! Opens the files of a corpus and determines its rows.

use super::{RowKind, TokenSource, position_type};
use crate::{
    Options, Sampling, TokenFile, element,
    gpt::{self, Ask, Description, Samples},
    options::PARTS,
};
use infeed_core::{Dim, Dtype, Error, FieldSpec, Result, Spec, Store, parallel};
use std::{ops::Range, sync::Arc};

impl TokenSource {
    /// Opens corpora by prefix or file, on at most `threads` threads. [`ENTRY`](crate::ENTRY) also
    /// takes folders and patterns.
    pub fn open(
        store: &Arc<dyn Store>,
        names: &[String],
        options: Options,
        threads: usize,
    ) -> Result<TokenSource> {
        let files = parallel::map(names.len(), threads, |at| {
            let file = TokenFile::open(store, &names[at], options.raw, options.read, options.drift)?;
            file.need_tokens()?;
            Ok(file)
        })?;
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
                (RowKind::Windows { stride }, windows(&begins, stride, need as u64))
            }
            Sampling::Megatron => {
                let samples = samples(&files, &parts, &options)?;
                let rows = samples.len();
                (RowKind::Gpt(samples), vec![rows])
            }
        };
        let parts = files.iter().zip(&parts).map(|(file, part)| tokens(file, part)).collect();
        let (spec, total) = (spec(&options, len), shard_rows.iter().sum());
        let held = files.iter().all(|file| file.data().is_held());
        let mut source = TokenSource {
            files,
            parts,
            begins,
            options,
            rows,
            len,
            need,
            limits,
            held,
            spec,
            shard_rows,
            total,
            blocks: vec![],
        };
        source.find_blocks();
        Ok(source)
    }
}

/// Returns the sequences of a file that belong to the part; without an index, the whole file as sequence 0.
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

/// Returns the tokens of these sequences.
fn tokens(file: &TokenFile, sequences: &Range<u64>) -> Range<u64> {
    match file.index() {
        Some(index) => index.first_token(sequences.start)..index.first_token(sequences.end),
        None => 0..file.tokens(),
    }
}

/// Returns the largest bits that are a valid token of this file, if not all are. Rejects dtypes
/// that tokens might not fit.
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

/// Returns the number of rows that begin in each file.
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
