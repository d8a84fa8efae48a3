//! Parts read one after the other: shared by tar streams and row streams.
//!
//! A part is a file, a command or standard input. Some can be read only once; what was peeked at before the stream
//! started is kept and comes first.

use super::{
    input::{Input, Stop},
    opening::Opening,
};
use infeed_core::{Error, Hold, Result, Store};
use std::{
    collections::{HashMap, VecDeque},
    fmt::{self, Debug},
    sync::{Arc, Mutex},
};

/// How the bytes of a part are cut into the items of a stream: rows of a tar, blocks of lines.
pub(super) trait Cut: Debug + Send + Sync + 'static {
    /// One item.
    type Item: Debug + Send;
    /// A part that is being read.
    type Reader: Send;

    /// Starts a part.
    fn begin(&self, name: &Arc<str>, bytes: Input) -> Result<Self::Reader>;

    /// Returns the next item; `None` at the end. After an error the reader must not be used again.
    fn next(reader: &mut Self::Reader, keep: Keep) -> Result<Option<Self::Item>>;
}

/// Whether data is wanted or only skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Names and sizes are enough.
    Names,
    Data,
}

/// A part that can be opened, perhaps only once.
#[derive(Debug)]
struct StreamPart<C: Cut> {
    opening: Opening,
    name: Arc<str>,
    /// For a part that can be read only once: its open reader, until a flow takes it.
    once: Option<Mutex<Option<OpenPart<C>>>>,
}

/// A part that has been opened. Items that were peeked at come first.
struct OpenPart<C: Cut> {
    looked_at: VecDeque<C::Item>,
    reader: Option<C::Reader>,
    stop: Stop,
}

impl<C: Cut> OpenPart<C> {
    fn new(stop: Stop) -> Self {
        OpenPart { looked_at: VecDeque::new(), reader: None, stop }
    }
}

impl<C: Cut> Debug for OpenPart<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPart").field("looked_at", &self.looked_at.len()).finish_non_exhaustive()
    }
}

/// The parts of a stream.
#[derive(Debug)]
pub(super) struct Parts<C: Cut> {
    cut: C,
    store: Arc<dyn Store>,
    parts: Vec<StreamPart<C>>,
}

impl<C: Cut> Parts<C> {
    /// Creates the list and checks that all parts exist.
    pub(super) fn new(cut: C, store: Arc<dyn Store>, openings: Vec<Opening>) -> Result<Self> {
        if openings.is_empty() {
            return Err(Error::argument("a stream needs at least one file or command"));
        }
        if openings.iter().filter(|opening| opening.name() == "-").count() > 1 {
            return Err(Error::argument("standard input (`-`) can be read only once; it is given twice"));
        }
        let part = |opening: Opening| {
            let once = opening.once(&*store)?.then(|| Mutex::new(Some(OpenPart::new(Stop::default()))));
            Ok(StreamPart { name: opening.name().into(), opening, once })
        };
        let parts = openings.into_iter().map(part).collect::<Result<_>>()?;
        Ok(Parts { cut, store, parts })
    }

    /// How parts are cut.
    pub(super) fn cut(&self) -> &C {
        &self.cut
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn name(&self, part: usize) -> &Arc<str> {
        &self.parts[part].name
    }

    /// Describes the stream for `explain()`.
    pub(super) fn describe(&self, format: &str) -> String {
        let pipes = self.parts.iter().filter(|part| matches!(part.opening, Opening::Pipe(_))).count();
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let kinds = [count(self.parts.len() - pipes, "file"), count(pipes, "command")];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        format!("{format} stream of {}, read from front to back", kinds.join(" and "))
    }

    fn begin(&self, part: &StreamPart<C>, stop: &Stop) -> Result<C::Reader> {
        let (bytes, shard) = part.opening.bytes(&self.store, stop)?;
        self.cut.begin(&part.name, Input::new(bytes, stop.clone()).of(shard))
    }

    /// Shows the first items of a part to `see` for as long as it returns `true`. They are not lost for a later
    /// reading. `keep` is what is needed of parts that can be opened again.
    pub(super) fn look(&self, part: usize, keep: Keep, mut see: impl FnMut(&C::Item) -> bool) -> Result<()> {
        let part = &self.parts[part];
        let mut kept = part.once.as_ref().map(|once| once.hold());
        let mut fresh = OpenPart::new(Stop::default());
        let (open, once) = match kept.as_deref_mut() {
            Some(Some(open)) => (open, true),
            _ => (&mut fresh, false),
        };
        let keep = if once { Keep::Data } else { keep };
        let mut reader = self.begin(part, &open.stop)?;
        while let Some(item) = C::next(&mut reader, keep)? {
            let more = see(&item);
            if once {
                open.looked_at.push_back(item);
            }
            if !more {
                break;
            }
        }
        open.reader = Some(reader);
        Ok(())
    }

    /// Takes a part that can be read only once; `None` for one that can be opened again.
    fn claim(&self, part: usize) -> Result<Option<OpenPart<C>>> {
        let StreamPart { name, once: Some(once), .. } = &self.parts[part] else { return Ok(None) };
        let what = if &**name == "-" { "standard input" } else { "a pipe" };
        once.hold().take().map(Some).ok_or_else(|| {
            Error::argument(format!(
                "`{name}` is {what}, which can be read only once, and that has been started already; \
                 save it to a file to read it again"
            ))
        })
    }
}

/// The items of some parts, in order.
#[derive(Debug)]
pub(super) struct Sequence<C: Cut> {
    parts: Arc<Parts<C>>,
    order: VecDeque<usize>,
    claimed: HashMap<usize, OpenPart<C>>,
    current: Option<(usize, OpenPart<C>)>,
    stop: Stop,
}

impl<C: Cut> Sequence<C> {
    pub(super) fn new(parts: &Arc<Parts<C>>, order: &[u64]) -> Result<Self> {
        let place = |wanted: &u64| {
            let place = usize::try_from(*wanted).ok().filter(|place| *place < parts.len());
            place.ok_or_else(|| {
                Error::argument(format!("there is no part {wanted}: the stream has {}", parts.len()))
            })
        };
        // All are checked before any is taken: a part that was taken cannot be given back.
        let order = order.iter().map(place).collect::<Result<VecDeque<usize>>>()?;
        let mut claimed = HashMap::new();
        for place in &order {
            if let Some(open) = parts.claim(*place)? {
                claimed.insert(*place, open);
            }
        }
        Ok(Sequence { parts: Arc::clone(parts), order, claimed, current: None, stop: Stop::default() })
    }

    /// Returns the flags that cancel the reading, whatever it waits for.
    pub(super) fn stops(&self) -> Vec<Stop> {
        let open = self.claimed.values().chain(self.current.as_ref().map(|(_, open)| open));
        open.map(|open| open.stop.clone()).chain([self.stop.clone()]).collect()
    }

    /// Returns the next item and its part.
    pub(super) fn next(&mut self, keep: Keep) -> Result<Option<(Arc<str>, C::Item)>> {
        loop {
            if self.current.is_none() {
                let Some(place) = self.order.pop_front() else { return Ok(None) };
                let open = self.claimed.remove(&place);
                self.current = Some((place, open.unwrap_or_else(|| OpenPart::new(self.stop.clone()))));
            }
            let Some((place, open)) = &mut self.current else { continue };
            let part = &self.parts.parts[*place];
            if let Some(item) = open.looked_at.pop_front() {
                return Ok(Some((Arc::clone(&part.name), item)));
            }
            let reader = match &mut open.reader {
                Some(reader) => reader,
                None => open.reader.insert(self.parts.begin(part, &open.stop)?),
            };
            match C::next(reader, keep)? {
                Some(item) => return Ok(Some((Arc::clone(&part.name), item))),
                None => self.current = None,
            }
        }
    }
}
