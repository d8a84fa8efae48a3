//! Scans the headers of a tar.

use super::{TarIndex, build::Builder, window::Window};
use crate::{
    format::search::Search,
    layout::tar::{
        header::{self, BLOCK, MemberKind},
        pax::Overrides,
    },
};
use infeed_core::{Error, Result, Shard, Store};

/// Maximum size of a name or PAX block. A larger one means that its header is damaged.
const LONGEST: u64 = 1 << 20;

/// What stops a scan: a fault in the tar, which a lenient scan skips, or another error, which ends any scan.
enum Stop {
    Fault(String),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

impl From<String> for Stop {
    fn from(fault: String) -> Self {
        Stop::Fault(fault)
    }
}

/// Finds the rows of a shard. A lenient scan continues at the next good header after a fault and records what it left
/// out; a strict one ends with an error.
pub(super) fn scan(
    store: &dyn Store,
    shard: &Shard,
    lenient: bool,
    search: Option<&Search>,
) -> Result<TarIndex> {
    let mut pass = Pass {
        shard,
        window: Window::new(store, shard, search),
        builder: Builder::default(),
        name: Vec::new(),
        next: Overrides::default(),
        global: Overrides::default(),
        announced: false,
        zeros: 0,
    };
    pass.refuse_compressed()?;
    let mut at = 0;
    while at < shard.size {
        match pass.step(at) {
            Ok(next) => at = next,
            Err(Stop::Error(error)) => return Err(error),
            // After the two blocks that end an archive anything may follow; only another archive is of interest.
            Err(Stop::Fault(_)) if pass.zeros >= 2 => {
                pass.builder
                    .note(format!("bytes {at}..{} after the end of the archive are ignored", shard.size));
                break;
            }
            Err(Stop::Fault(what)) if !lenient => {
                return Err(Error::Format { shard: shard.name.to_string(), offset: at, what });
            }
            Err(Stop::Fault(what)) => {
                let next = pass.window.next_header(at + BLOCK)?.unwrap_or(shard.size);
                pass.builder.damaged(format!("bytes {at}..{next} are skipped: {what}"));
                pass.next.clear();
                pass.announced = false;
                at = next;
            }
        }
    }
    if pass.announced {
        let what = "the archive is cut off before the member that its last header announces".to_owned();
        if !lenient {
            return Err(Error::Format { shard: shard.name.to_string(), offset: shard.size, what });
        }
        pass.builder.damaged(what);
    }
    Ok(pass.builder.finish())
}

struct Pass<'a> {
    shard: &'a Shard,
    window: Window<'a>,
    builder: Builder,
    /// The name of the current member.
    name: Vec<u8>,
    /// Overrides from preceding members, for the next member and for all.
    next: Overrides,
    global: Overrides,
    /// Whether the last header announced a member that is yet to come.
    announced: bool,
    /// Number of zero blocks directly before this offset.
    zeros: u64,
}

impl Pass<'_> {
    /// Handles the block at `at` and returns the offset of the next one.
    fn step(&mut self, at: u64) -> Result<u64, Stop> {
        let left = self.shard.size - at;
        let block = self.window.at(at, left.min(BLOCK))?;
        let first = |fault: String| if at == 0 { header::first_fault(block, fault) } else { fault };
        if header::is_zero(block) {
            self.zeros += 1;
            if self.zeros == 2 {
                self.builder.close();
                self.next.clear();
                self.announced = false;
            }
            return Ok(at + BLOCK);
        }
        if left < BLOCK {
            let fault = format!("the archive is cut off inside a header: {left} of {BLOCK} bytes are there");
            return Err(first(fault).into());
        }
        let head = header::parse(block, &mut self.name).map_err(first)?;
        self.zeros = 0;
        self.announced = matches!(head.kind, MemberKind::Pax | MemberKind::LongName | MemberKind::LongLink);
        let body = at + BLOCK;
        match head.kind {
            MemberKind::Pax | MemberKind::PaxGlobal | MemberKind::LongName => {
                let end = self.end(body, head.size)?;
                self.about_next(head.kind, body, head.size)?;
                Ok(end)
            }
            MemberKind::LongLink => Ok(self.end(body, head.size)?),
            MemberKind::Empty => {
                self.next.clear();
                Ok(body)
            }
            MemberKind::File | MemberKind::Sparse | MemberKind::Other => {
                let said = std::mem::take(&mut self.next);
                if let Some(path) = said.path.or_else(|| self.global.path.clone()) {
                    self.name = path;
                }
                let size = said.size.or(self.global.size).unwrap_or(head.size);
                let end = self.end(body, size)?;
                if head.kind == MemberKind::Sparse || said.sparse {
                    let name = self.name.escape_ascii();
                    return Err(
                        format!("member `{name}` is a sparse file; pack it again without holes").into()
                    );
                }
                if head.kind == MemberKind::File {
                    self.builder.add(&self.name, body, size)?;
                }
                Ok(end)
            }
        }
    }

    /// Returns the offset of the next header, if this member's data and padding are complete.
    fn end(&self, body: u64, size: u64) -> Result<u64, String> {
        let end = size.checked_next_multiple_of(BLOCK).and_then(|padded| body.checked_add(padded));
        end.filter(|end| *end <= self.shard.size).ok_or_else(|| {
            let left = self.shard.size - body;
            let name = self.name.escape_ascii();
            format!("the archive is cut off inside member `{name}`: it has {size} bytes and padding, {left} are left")
        })
    }

    /// Reads a member that describes other members.
    fn about_next(&mut self, kind: MemberKind, body: u64, size: u64) -> Result<(), Stop> {
        if size > LONGEST {
            return Err(format!("a name of {size} bytes is too long").into());
        }
        let bytes = self.window.at(body, size)?;
        match kind {
            MemberKind::Pax => self.next.read(bytes)?,
            MemberKind::PaxGlobal => self.global.read(bytes)?,
            _ => {
                let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
                self.next.path = Some(bytes[..end].to_vec());
            }
        }
        Ok(())
    }

    /// Fails if the file is a compressed tar.
    fn refuse_compressed(&mut self) -> Result<()> {
        let start = self.window.at(0, self.shard.size.min(6))?;
        let kinds: [(&[u8], &str); 5] = [
            (b"\x1f\x8b", "gzip"),
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"BZh", "bzip2"),
            (b"\xfd7zXZ\0", "xz"),
            (b"\x04\x22\x4d\x18", "lz4"),
        ];
        match kinds.iter().find(|(magic, _)| start.starts_with(magic)) {
            // A member may be named `BZh...`, but its block then has a tar's checksum.
            Some((_, kind))
                if self.shard.size < BLOCK || !header::checksum_holds(self.window.at(0, BLOCK)?) =>
            {
                Err(Error::Format {
                    shard: self.shard.name.to_string(),
                    offset: 0,
                    what: format!(
                        "this is compressed ({kind}), not a plain tar; under a name that says so (.tar.gz, .tar.zst, ...) it is read \
                         as a stream"
                    ),
                })
            }
            _ => Ok(()),
        }
    }
}
