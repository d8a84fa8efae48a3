//! Zarr stores in ZIP archives: every object of the store is a member of one file.
//!
//! Only the header of a member, which lies in front of its bytes, tells where they begin. A chunk is read together with its header,
//! so that none takes a request of its own; where parts of a member are wanted (shards), its header is read when the store is opened.

use super::stores::{is_metadata, range};
use crate::{
    array::Scratch,
    object::Object,
    zip::{Inflate, Member, Method, all_members, data_at},
};
use bytes::Bytes;
use infeed_core::{Error, FileLook, Result, Shard, Store};
use infeed_zarr::{Limits, Span};
use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, OnceLock},
};

/// The end of the names of archives.
pub(super) const ENDING: &str = ".zip";

/// An open archive.
pub(super) struct Archive {
    object: Object,
}

/// An object of a store that is a member of its archive.
#[derive(Debug)]
pub(super) struct Packed {
    member: Member,
    /// Where its bytes begin, once somebody looked.
    data: OnceLock<u64>,
}

impl Archive {
    /// Reads the directory. Of members with the same name the last counts: so does Python's `zipfile`, and zarr replaces objects by
    /// adding them once more.
    pub(super) fn open(
        store: &Arc<dyn Store>,
        shard: Shard,
    ) -> Result<(Self, BTreeMap<String, Arc<Packed>>)> {
        let object = Object::new(store, shard);
        let members = all_members(&object)?.into_iter();
        let packed = |member: Member| {
            let key = member.name.trim_start_matches('/').to_owned();
            (key, Arc::new(Packed { member, data: OnceLock::new() }))
        };
        let packed = members.map(packed).collect();
        Ok((Archive { object }, packed))
    }

    pub(super) fn shard(&self) -> &Shard {
        self.object.shard()
    }

    /// Reads an object, or a part of one.
    pub(super) fn read(&self, packed: &Packed, span: &Span) -> Result<Bytes> {
        let wrong = |e: Error| self.object.damaged(packed.member.reach().start, e.to_string());
        if let (Span::Range(_) | Span::Last(_), Method::Stored) = (span, packed.member.method) {
            if packed.data.get().is_none() {
                // Others may have found the same.
                let _ = packed.data.set(data_at(&self.object, &packed.member)?);
            }
            return self.object.get(packed.range(span).map_err(wrong)?);
        }
        if packed.size() > Limits::default().max_chunk {
            return Err(wrong(Error::sample(format!("an object of {} bytes", packed.size()))));
        }
        let reach = self.object.get(packed.member.reach())?;
        let mut inflated = Vec::new();
        let all = packed.unpack(&reach, &mut Inflate::default(), &mut inflated).map_err(wrong)?;
        let part = range(span, all.len() as u64).ok_or_else(|| wrong(packed.short(span)))?;
        Ok(Bytes::copy_from_slice(&all[part.start as usize..part.end as usize]))
    }
}

impl Packed {
    /// Bytes of the object.
    pub(super) fn size(&self) -> u64 {
        self.member.size
    }

    fn short(&self, span: &Span) -> Error {
        Error::sample(format!("{}: {span:?} of {} bytes", self.member.name, self.size()))
    }

    /// The bytes of the archive that have a part of the object: for all of it, together with its header.
    pub(super) fn range(&self, span: &Span) -> Result<Range<u64>> {
        if *span == Span::All {
            return Ok(self.member.reach());
        }
        if self.member.method == Method::Deflated {
            let what = "shards that were deflated once more can only be read as a whole: make the archive without compression";
            return Err(Error::sample(format!("{}: {what} (zip -0)", self.member.name)));
        }
        let lost =
            || Error::Internal { what: format!("{}: nobody looked where it begins", self.member.name) };
        let data = self.data.get().ok_or_else(lost)?;
        let part = range(span, self.size()).ok_or_else(|| self.short(span))?;
        Ok(data + part.start..data + part.end)
    }

    /// Turns what [`range`](Self::range) of all of it gave into the object.
    fn unpack<'a>(
        &self,
        reach: &'a [u8],
        inflate: &mut Inflate,
        inflated: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        let lost = || Error::sample(format!("member `{}` is not where the directory says", self.member.name));
        self.member.unpack(self.member.body(reach).ok_or_else(lost)?, inflate, inflated)
    }

    /// Gives the object to `place`, out of what [`range`](Self::range) gave.
    pub(super) fn open<T>(
        &self,
        span: &Span,
        read: &[u8],
        scratch: &mut Scratch,
        place: impl FnOnce(&[u8], &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        if *span != Span::All {
            return place(read, scratch);
        }
        let (mut inflate, mut inflated) =
            (std::mem::take(&mut scratch.inflate), std::mem::take(&mut scratch.inflated));
        let placed = self.unpack(read, &mut inflate, &mut inflated).and_then(|object| place(object, scratch));
        scratch.inflate = inflate;
        scratch.keep_inflated(inflated);
        placed
    }
}

/// Whether a file is an archive of a store: by its name, or by that of its first member.
pub(super) fn recognise(file: &FileLook<'_>) -> bool {
    let is_archive = file.name.ends_with(ENDING) && file.head.starts_with(b"PK\x03\x04");
    let first = || {
        let len = file.head.get(26..28)?.first_chunk().map(|len| u16::from_le_bytes(*len))?;
        std::str::from_utf8(file.head.get(30..30 + usize::from(len))?).ok()
    };
    let is_store = |first: &str| is_metadata(first) || first.split('/').any(|part| part.ends_with(".zarr"));
    is_archive && (file.name.ends_with(".zarr.zip") || first().is_some_and(is_store))
}
