//! `infeed tokenize`: text of any format to a token corpus.
//!
//! The loader's threads read and tokenize, in order; this thread writes. Every few seconds it writes a checkpoint to a
//! journal, from which the same command resumes after it was stopped, even if it was killed.

pub(crate) mod args;
mod journal;
mod parts;
mod rate;

use crate::{
    fault::Fault,
    human, interrupt,
    report::Report,
    table::{Align, Table},
};
use args::{TokenizeArgs, Width};
use infeed::{
    Column, Error, Loader, Next, Options, Plan, Value,
    store::{self, find},
};
use infeed_core::Dtype;
use infeed_text::{Encoder, Options as Encoding, Token};
use infeed_tokens::TokenWriter;
use journal::{Corpus, Journal, Point};
use parts::CorpusPart;
use rate::Rate;
use serde_json::{Value as Json, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// The longest sleep of the loop before it checks the clock and Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// What all corpora of a command have in common.
struct Work<'a> {
    args: &'a TokenizeArgs,
    encoder: Encoder,
    eod: Option<u32>,
    dtype: Dtype,
}

/// The result for one corpus.
struct Made {
    prefix: String,
    documents: u64,
    tokens: u64,
    left_out: u64,
    /// Documents that were there from an earlier run; all of them when it was finished.
    before: u64,
    seconds: f64,
    new_tokens: u64,
    read_mb: f64,
}

pub(crate) fn run(args: &TokenizeArgs) -> Result<Report, Fault> {
    let plain = Encoding { special_tokens: args.special_tokens, ..Encoding::default() };
    let encoder = Encoder::open(&args.tokenizer, &plain)?;
    let eod = match args.append_eod.as_deref() {
        None => None,
        Some("auto") => Some(
            encoder
                .end_of_document()
                .ok_or_else(|| {
                    Error::argument(format!(
                        "`{}` has no end-of-document token with a usual name: name it with --append-eod",
                        args.tokenizer
                    ))
                })?
                .1,
        ),
        // Names are tried first: some tokens look like numbers.
        Some(name) => Some(encoder.token(&Token::Name(name.to_owned())).or_else(|e| match name.parse() {
            Ok(id) => encoder.token(&Token::Id(id)),
            Err(_) => Err(e),
        })?),
    };
    let vocab = encoder.vocab_size() as u64;
    let dtype = match args.dtype {
        Width::Auto => TokenWriter::dtype_for(vocab),
        Width::I32 => Dtype::I32,
        Width::U16 if vocab <= 1 << 16 => Dtype::U16,
        Width::U16 => {
            return Err(
                Error::argument(format!("u16 is too small for {vocab} tokens: use --dtype i32")).into()
            );
        }
    };
    let work = Work { args, encoder, eod, dtype };
    let parts = parts::parts(args)?;
    let made = parts.iter().map(|part| work.part(part)).collect::<Result<Vec<Made>, Fault>>()?;
    Ok(report(&work, &made))
}

impl Work<'_> {
    /// Makes one corpus, or the missing part of it.
    fn part(&self, part: &CorpusPart) -> Result<Made, Fault> {
        // The whole source, including the part that is done: the identity in the journal is derived from it.
        let whole = parts::plan(self.args, part, self.eod, 0)?;
        let journal = Journal::new(&part.prefix, self.identity(&whole, part));
        let found = if self.args.overwrite { Corpus::Nothing } else { journal.look()? };
        let point = match found {
            Corpus::Nothing => None,
            Corpus::Begun(point) => Some(point),
            Corpus::Finished if self.args.resume => return Ok(Made::finished(part)?),
            Corpus::Finished => {
                let prefix = &part.prefix;
                return Err(Error::argument(format!(
                    "`{prefix}.bin` exists already: --overwrite replaces it, --resume keeps it"
                ))
                .into());
            }
        };
        let start = point.unwrap_or_default();
        let plan = if start.rows == 0 { whole } else { parts::plan(self.args, part, self.eod, start.rows)? };
        let writer = journal.writer(self.dtype, point)?;
        self.write(part, &plan, &journal, writer, start)
    }

    fn write(
        &self,
        part: &CorpusPart,
        plan: &Arc<Plan>,
        journal: &Journal,
        mut writer: TokenWriter,
        start: Point,
    ) -> Result<Made, Fault> {
        let options = Options {
            threads: self.args.workers,
            on_error: self.args.on_error.into(),
            error_limit: u64::MAX,
            persistent: false,
            ..Options::default()
        };
        let mut loader = Loader::new(Arc::clone(plan), options)?;
        let total = (!plan.is_stream()).then(|| start.rows + plan.order.places());
        let mut rate = Rate::new(total, start.rows);
        let (mut rows, mut left_out) = (start.rows, 0);
        let mut safe = Instant::now();
        let mut tokens = vec![];
        let mut epoch = loader.start()?;
        loop {
            let next = if interrupt::asked() { Ok(Next::End) } else { epoch.next(Some(PATIENCE)) };
            if !matches!(next, Ok(Next::Waiting | Next::Batch(_))) && (interrupt::asked() || next.is_err()) {
                // Keep the progress.
                journal.keep(&mut writer, rows)?;
                interrupt::check()?;
            }
            match next? {
                Next::Batch(batch) => {
                    for (_, column) in &batch.columns {
                        let Column::List(values) = column else { return Err(unexpected("an array").into()) };
                        for value in values {
                            read(value, &mut tokens)?;
                            writer.add(&tokens)?;
                        }
                    }
                    rows += (batch.len() + batch.left_out.len()) as u64;
                    left_out += batch.left_out.len() as u64;
                }
                Next::Waiting => {}
                Next::End => break,
            }
            rate.show(rows, writer.documents(), writer.tokens() - start.tokens, || loader.stats());
            if safe.elapsed().as_secs_f64() >= self.args.checkpoint {
                journal.keep(&mut writer, rows)?;
                safe = Instant::now();
            }
        }
        journal.keep(&mut writer, rows)?;
        let (documents, all) = writer.finish()?;
        journal.remove()?;
        let stats = loader.stats();
        Ok(Made {
            prefix: part.prefix.clone(),
            documents,
            tokens: all,
            left_out,
            before: start.documents,
            seconds: rate.seconds(),
            new_tokens: all - start.tokens,
            read_mb: stats.read_mb_per_s * stats.seconds,
        })
    }

    /// What a run must have in common with the one it resumes.
    fn identity(&self, plan: &Plan, part: &CorpusPart) -> Json {
        let identity = plan.identity();
        // Changed files are recognised by their size, because they are not read again.
        let files = find(&part.paths).unwrap_or_default();
        let size = |file: &store::Found| {
            let (store::Found::File(name) | store::Found::Folder(name)) = file;
            Some(std::fs::metadata(name).ok()?.len())
        };
        let sizes: Vec<u64> = files.iter().filter_map(size).collect();
        json!({
            "version": 1,
            "source": [identity.rows, identity.shards, identity.data, sizes],
            "rows": part.rows.as_ref().map(|r| [r.start, r.end]),
            "field": plan.spec.fields.first().map(|(name, _)| name.to_string()),
            "tokenizer": format!("{:016x}", self.encoder.hash()),
            "append_eod": self.eod,
            "special_tokens": self.args.special_tokens,
            "dtype": self.dtype.name(),
        })
    }
}

impl Made {
    /// The result for a corpus that was already finished.
    fn finished(part: &CorpusPart) -> infeed::Result<Self> {
        let file = infeed_tokens::tools::info(&crate::tokens::local(), &part.prefix, None)?;
        Ok(Made {
            prefix: part.prefix.clone(),
            documents: file.documents,
            tokens: file.tokens,
            left_out: 0,
            before: file.documents,
            seconds: 0.0,
            new_tokens: 0,
            read_mb: 0.0,
        })
    }
}

fn unexpected(what: &str) -> Error {
    Error::Internal { what: format!("tokens came as {what}") }
}

/// The tokens of a document.
fn read(value: &Value, tokens: &mut Vec<u32>) -> infeed::Result<()> {
    let Value::Tensor(tensor) = value else { return Err(unexpected(value.what())) };
    tokens.clear();
    let numbers = tensor.data.chunks_exact(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap_or_default()));
    tokens.extend(numbers);
    Ok(())
}

fn report(work: &Work<'_>, made: &[Made]) -> Report {
    let mut table = Table::new(&[
        ("corpus", Align::Left),
        ("documents", Align::Right),
        ("tokens", Align::Right),
        ("left out", Align::Right),
        ("from before", Align::Right),
    ]);
    for part in made {
        let count = human::count;
        let cells = [count(part.documents), count(part.tokens), count(part.left_out), count(part.before)];
        table.row(std::iter::once(part.prefix.clone()).chain(cells));
    }
    let sum = |pick: fn(&Made) -> f64| made.iter().map(pick).sum::<f64>();
    let seconds = sum(|m| m.seconds);
    let rate = if seconds > 0.0 { sum(|m| m.new_tokens as f64) / seconds } else { 0.0 };
    let mb = if seconds > 0.0 { sum(|m| m.read_mb) / seconds } else { 0.0 };
    let (documents, tokens) =
        (made.iter().map(|m| m.documents).sum::<u64>(), made.iter().map(|m| m.tokens).sum::<u64>());
    let text = format!(
        "{}{} documents, {} tokens as {} in {seconds:.1} s: {} tokens/s, {mb:.1} MB/s read",
        table.render(),
        human::count(documents),
        human::count(tokens),
        work.dtype,
        human::count(rate.round() as u64),
    );
    let one = |m: &Made| {
        json!({"prefix": m.prefix, "documents": m.documents, "tokens": m.tokens, "left_out": m.left_out,
               "from_before": m.before, "seconds": m.seconds})
    };
    let json = json!({
        "corpora": made.iter().map(one).collect::<Vec<_>>(), "documents": documents, "tokens": tokens,
        "dtype": work.dtype.name(), "eod": work.eod, "vocab": work.encoder.vocab_size(),
        "engine": work.encoder.engine(), "seconds": seconds, "tokens_per_s": rate, "read_mb_per_s": mb,
    });
    Report { text, json }
}
