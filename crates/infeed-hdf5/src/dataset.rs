//! A data set, as its header describes it.

use crate::{
    datatype::{self, Datatype},
    error::{Error, Result},
    filter::Pipeline,
    header::{Header, SharedTable, kind},
    layout::Layout,
    limits::Limits,
    meta::Meta,
    space::Space,
};
use bytes::Bytes;

/// What is known of a data set before any of its elements is read.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dataset {
    /// Its path in the file.
    pub path: String,
    /// What its elements are.
    pub datatype: Datatype,
    /// Its shape.
    pub space: Space,
    /// Where its elements are.
    pub layout: Layout,
    /// What was done to its chunks.
    pub pipeline: Pipeline,
    /// One element with the value of those that were never written; `None` means zeros.
    pub fill: Option<Bytes>,
    /// Its elements are in other files.
    pub external: bool,
    /// The address of its header, which tells objects apart.
    pub address: u64,
}

/// Whether an object is a data set.
pub(crate) fn is_dataset(header: &Header) -> bool {
    header.has(kind::LAYOUT) && header.has(kind::DATASPACE) && header.has(kind::DATATYPE)
}

impl Dataset {
    pub(crate) fn parse(meta: &Meta, table: &SharedTable, header: &Header, path: &str) -> Result<Dataset> {
        let find = |wanted, what: &str| -> Result<_> {
            let found = header.find(meta, table, wanted)?;
            found.ok_or_else(|| Error::damaged_at(header.address, format!("a data set without {what}")))
        };
        let message = find(kind::DATATYPE, "datatype")?;
        let datatype = datatype::parse(&mut message.cursor(meta, "datatype"), meta.limits.max_depth)?;
        let message = find(kind::DATASPACE, "shape")?;
        let space = Space::parse(&mut message.cursor(meta, "dataspace"))?;
        let message = find(kind::LAYOUT, "layout")?;
        let mut cursor = message.cursor(meta, "layout");
        let layout = Layout::parse(meta, &mut cursor, &message.data, datatype.size)?;
        if let Layout::Chunked { chunk, .. } = &layout
            && chunk.len() != space.shape.len()
        {
            return Err(cursor.wrong("chunks have another number of axes than the shape"));
        }
        let pipeline = match header.find(meta, table, kind::PIPELINE)? {
            Some(message) => Pipeline::parse(&mut message.cursor(meta, "filters"), datatype.size as usize)?,
            None => Pipeline::default(),
        };
        let fill = fill(meta, table, header)?.filter(|fill| fill.len() == datatype.size as usize);
        let external = header.has(kind::EXTERNAL_FILES);
        Ok(Dataset {
            path: path.to_owned(),
            datatype,
            space,
            layout,
            pipeline,
            fill,
            external,
            address: header.address,
        })
    }

    /// The shape of a chunk, if there are chunks.
    pub fn chunk(&self) -> Option<&[u64]> {
        match &self.layout {
            Layout::Chunked { chunk, .. } => Some(chunk),
            _ => None,
        }
    }

    /// Bytes of a decoded chunk, within the limits.
    pub(crate) fn chunk_bytes(&self, limits: &Limits) -> Result<u64> {
        let element = u64::from(self.datatype.size);
        let bytes = self.chunk().unwrap_or_default().iter().try_fold(element, |all, &n| all.checked_mul(n));
        let (size, limit) = (bytes.unwrap_or(u64::MAX), limits.max_chunk);
        if size > limit || usize::try_from(size).is_err() {
            return Err(Error::TooLarge { what: "a chunk", size, limit });
        }
        Ok(size)
    }

    /// Says by name why elements cannot be read.
    pub fn check(&self) -> Result<()> {
        if self.external {
            return Err(Error::Unsupported(format!(
                "{}: its elements are in other files (external storage)",
                self.path
            )));
        }
        if self.layout == Layout::Virtual {
            return Err(Error::Unsupported(format!(
                "{}: a virtual data set, whose elements are in other data sets; open those instead",
                self.path
            )));
        }
        self.pipeline.check().map_err(|e| e.in_object(&self.path))
    }
}

/// The fill value, if one is defined.
fn fill(meta: &Meta, table: &SharedTable, header: &Header) -> Result<Option<Bytes>> {
    if let Some(message) = header.find(meta, table, kind::FILL)? {
        let mut cursor = message.cursor(meta, "fill value");
        let version = cursor.version(1..=3)?;
        let defined = if version == 3 {
            cursor.u8()? & 0x20 != 0
        } else {
            cursor.skip(2)?;
            cursor.u8()? != 0 || version == 1
        };
        if !defined {
            return Ok(None);
        }
        let len = cursor.u32()?;
        // Version 1 has a length in any case; a negative one says that nothing is defined.
        if len == 0 || len > i32::MAX as u32 {
            return Ok(None);
        }
        let start = cursor.position();
        cursor.skip(len as usize)?;
        return Ok(Some(message.data.slice(start..start + len as usize)));
    }
    let Some(message) = header.find(meta, table, kind::OLD_FILL)? else { return Ok(None) };
    let mut cursor = message.cursor(meta, "old fill value");
    let len = cursor.u32()? as usize;
    let start = cursor.position();
    cursor.skip(len)?;
    Ok((len > 0).then(|| message.data.slice(start..start + len)))
}
