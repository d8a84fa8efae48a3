//! A tar read from front to back, by the rules of the format `tar`.
//!
//! Headers, PAX records and names are parsed by the code of that format. The format skips the data and keeps its
//! offset; a stream has to read it. A row is returned once the header after it has been read, so that it is known to
//! be complete; the data after that header is read with the next row.

mod fields;
mod stream;
mod tape;
mod watch;

pub(super) use stream::TarCut;
pub use stream::TarStream;
pub use watch::{TarNotes, TarWatch};

use super::parts::Keep;
use crate::{
    layout::tar::{
        header::{self, BLOCK, MemberKind},
        names,
        pax::Overrides,
    },
    store::Pool,
};
use fields::Fields;
use infeed_core::{Bytes, Error, Packing, Result, memory::readable};
use std::{io::Read, sync::Arc};
use tape::Tape;

/// Maximum size of a name or PAX block. A larger one means that its header is damaged.
const LONGEST: u64 = 1 << 20;
/// The largest field that is kept in memory, and the largest row.
const LARGEST: u64 = 2 << 30;
const LARGEST_ROW: u64 = 4 << 30;

/// A row with all its fields.
#[derive(Debug, Clone)]
pub(super) struct TarRow {
    pub(super) key: String,
    pub(super) fields: Vec<(Arc<str>, Bytes)>,
    /// Bytes of all fields.
    pub(super) size: u64,
}

/// The rows of a tar.
pub(super) struct TarRows<R> {
    tape: Tape<R>,
    /// How the tar was compressed: its offsets are then not those of the file.
    packing: Option<Packing>,
    /// The name of the current member.
    name: Vec<u8>,
    /// Overrides from preceding members, for the next member and for all.
    next: Overrides,
    global: Overrides,
    /// Whether the last header announced a member that is yet to come.
    announced: bool,
    /// Number of zero blocks directly before this offset.
    zeros: u64,
    fields: Fields,
    /// The first member of the next row, whose data has not been read.
    pending: Option<Member>,
    over: bool,
    /// Most bytes of a row.
    largest: u64,
    /// Who wants to know where members lie.
    notes: Option<Box<dyn TarNotes>>,
}

/// A member that belongs to a row. Its name is in `name`.
#[derive(Debug, Clone, Copy)]
struct Member {
    /// The offset of its header.
    at: u64,
    /// Length of the key at the start of the name.
    key: usize,
    size: u64,
}

/// The result of reading the next header.
enum Look {
    Member(Member),
    /// Nothing that belongs to a row.
    Nothing,
    /// The end of an archive: the row is complete, another archive may follow.
    Close,
}

/// Why reading a header stopped.
enum Halt {
    Fault(String),
    Error(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Error(error)
    }
}

impl From<String> for Halt {
    fn from(fault: String) -> Self {
        Halt::Fault(fault)
    }
}

impl<R: Read> TarRows<R> {
    pub(super) fn new(shard: &Arc<str>, read: R, packing: Option<Packing>, pool: &Arc<Pool>) -> Self {
        TarRows {
            tape: Tape::new(shard, read, pool),
            packing,
            name: Vec::new(),
            next: Overrides::default(),
            global: Overrides::default(),
            announced: false,
            zeros: 0,
            fields: Fields::default(),
            pending: None,
            over: false,
            largest: LARGEST_ROW,
            notes: None,
        }
    }

    /// The same rows, with somebody who notes where they lie.
    fn with_notes(self, notes: Option<Box<dyn TarNotes>>) -> Self {
        TarRows { notes, ..self }
    }

    /// The same rows, none larger than this.
    fn with_largest(self, largest: u64) -> Self {
        TarRows { largest, ..self }
    }

    /// Returns the next row, or `None` after the last. After an error the reader must not be used again.
    pub(super) fn next(&mut self, keep: Keep) -> Result<Option<TarRow>> {
        let mut member = match self.pending.take() {
            Some(member) => member,
            None => loop {
                match self.find()? {
                    Some(Look::Member(member)) => break member,
                    Some(_) => {}
                    None => return Ok(None),
                }
            },
        };
        let key = self.name[..member.key].to_vec();
        self.fields.start_row();
        let mut row = TarRow { key: String::from_utf8_lossy(&key).into_owned(), fields: Vec::new(), size: 0 };
        loop {
            let field = self.fields.add(&key, &self.name[member.key + 1..]);
            let field = field.map_err(|what| self.fault(member.at, what))?;
            row.size = row.size.saturating_add(member.size);
            let data = self.data(member.size, keep, row.size).map_err(|halt| match halt {
                Halt::Error(error) => error,
                Halt::Fault(what) => self.fault(member.at, what),
            })?;
            row.fields.push((field, data));
            member = loop {
                match self.find()? {
                    Some(Look::Member(next)) if self.name[..next.key] == key => break next,
                    Some(Look::Member(next)) => {
                        self.pending = Some(next);
                        return Ok(Some(row));
                    }
                    Some(Look::Nothing) => {}
                    Some(Look::Close) | None => return Ok(Some(row)),
                }
            };
        }
    }

    /// Reads the next header; `None` at the end of the data.
    fn find(&mut self) -> Result<Option<Look>> {
        if self.over {
            return Ok(None);
        }
        let at = self.tape.at();
        match self.header(at) {
            Ok(Some(found)) => return Ok(Some(found)),
            Ok(None) if self.announced => {
                let what = "the archive is cut off before the member that its last header announces";
                return Err(self.fault(at, what.to_owned()));
            }
            Ok(None) => {
                if let Some(notes) = self.notes.take() {
                    notes.end();
                }
            }
            Err(Halt::Error(error)) => return Err(error),
            // After the two blocks that end an archive anything may follow; only another archive is of interest. The
            // rest is read all the same, so that a command can exit normally and the checksum of compressed data is
            // verified.
            Err(Halt::Fault(_)) if self.zeros >= 2 => {
                self.tape.pass(u64::MAX)?;
            }
            Err(Halt::Fault(what)) => return Err(self.fault(at, what)),
        }
        self.over = true;
        Ok(None)
    }

    fn header(&mut self, at: u64) -> Result<Option<Look>, Halt> {
        let mut block = [0; BLOCK as usize];
        let got = self.tape.fill(&mut block)?;
        let first = |fault: String| if at == 0 { header::first_fault(&block[..got], fault) } else { fault };
        if got == 0 {
            return Ok(None);
        }
        if header::is_zero(&block[..got]) {
            self.zeros += 1;
            if self.zeros != 2 {
                return Ok(Some(Look::Nothing));
            }
            self.next.clear();
            self.announced = false;
            if let Some(notes) = &mut self.notes {
                notes.close();
            }
            return Ok(Some(Look::Close));
        }
        if got < block.len() {
            let fault = format!("the archive is cut off inside a header: {got} of {BLOCK} bytes are there");
            return Err(first(fault).into());
        }
        let head = header::parse(&block, &mut self.name).map_err(first)?;
        self.zeros = 0;
        self.announced = matches!(head.kind, MemberKind::Pax | MemberKind::LongName | MemberKind::LongLink);
        match head.kind {
            MemberKind::Pax | MemberKind::PaxGlobal | MemberKind::LongName => {
                self.about_next(head.kind, head.size)?
            }
            MemberKind::LongLink => self.step_over(head.size)?,
            MemberKind::Empty => self.next.clear(),
            MemberKind::File | MemberKind::Sparse | MemberKind::Other => {
                let said = std::mem::take(&mut self.next);
                if let Some(path) = said.path.or_else(|| self.global.path.clone()) {
                    self.name = path;
                }
                let size = said.size.or(self.global.size).unwrap_or(head.size);
                if head.kind == MemberKind::Sparse || said.sparse {
                    let name = self.name.escape_ascii();
                    return Err(
                        format!("member `{name}` is a sparse file; pack it again without holes").into()
                    );
                }
                if head.kind == MemberKind::File {
                    let (name, body) = (&self.name, self.tape.at());
                    self.notes = self
                        .notes
                        .take()
                        .and_then(|mut notes| notes.member(name, body, size).then_some(notes));
                }
                let parts = names::split(&self.name).filter(|_| !names::is_note(&self.name));
                match parts.filter(|_| head.kind == MemberKind::File) {
                    Some((key, _)) => {
                        return Ok(Some(Look::Member(Member { at, key: key.len(), size })));
                    }
                    None => self.step_over(size)?,
                }
            }
        }
        Ok(Some(Look::Nothing))
    }

    /// Reads a member that describes other members.
    fn about_next(&mut self, kind: MemberKind, size: u64) -> Result<(), Halt> {
        if size > LONGEST {
            return Err(format!("a name of {size} bytes is too long").into());
        }
        let mut bytes = vec![0; size as usize];
        let got = self.tape.fill(&mut bytes)?;
        self.padding(size, got)?;
        match kind {
            MemberKind::Pax => self.next.read(&bytes)?,
            MemberKind::PaxGlobal => self.global.read(&bytes)?,
            _ => {
                let end = memchr::memchr(0, &bytes).unwrap_or(bytes.len());
                bytes.truncate(end);
                self.next.path = Some(bytes);
            }
        }
        Ok(())
    }

    /// Skips the data of a member.
    fn step_over(&mut self, size: u64) -> Result<(), Halt> {
        let padded = size.checked_next_multiple_of(BLOCK).ok_or_else(|| self.cut_off(size, 0))?;
        let got = self.tape.pass(padded)?;
        if got < padded { Err(self.cut_off(size, got).into()) } else { Ok(()) }
    }

    /// Reads the data of the current member; empty if only names are wanted.
    fn data(&mut self, size: u64, keep: Keep, row: u64) -> Result<Bytes, Halt> {
        if size > LARGEST || row > self.largest {
            let name = self.name.escape_ascii();
            let (field, row) = (readable(LARGEST.min(self.largest)), readable(self.largest));
            return Err(format!(
                "member `{name}` has {size} bytes; here a field of a stream may have {field} and a row {row} (memory=)"
            )
            .into());
        }
        if keep == Keep::Names {
            self.step_over(size)?;
            return Ok(Bytes::new());
        }
        let (got, bytes) = self.tape.take(size as usize)?;
        self.padding(size, got)?;
        Ok(bytes)
    }

    /// Skips the padding after a member. Fails if not all of its data was there.
    fn padding(&mut self, size: u64, got: usize) -> Result<(), Halt> {
        let padding = size.next_multiple_of(BLOCK) - size;
        let whole = got as u64 == size && self.tape.pass(padding)? == padding;
        if whole { Ok(()) } else { Err(self.cut_off(size, got as u64).into()) }
    }

    fn fault(&self, offset: u64, mut what: String) -> Error {
        if let Some(packing) = self.packing {
            what.push_str(&format!(" (counted in the tar inside the {} data)", packing.name()));
        }
        Error::Format { shard: self.tape.shard.to_string(), offset, what }
    }

    fn cut_off(&self, size: u64, left: u64) -> String {
        let name = self.name.escape_ascii();
        format!(
            "the archive is cut off inside member `{name}`: it has {size} bytes and padding, {left} are left"
        )
    }
}
