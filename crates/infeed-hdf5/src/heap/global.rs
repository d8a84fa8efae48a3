//! The global heap: texts and lists of any length, which elements name by collection and number.

use crate::{
    error::{Error, Result},
    meta::Meta,
};
use bytes::Bytes;
use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

/// Collections that are kept: neighbours in a data set are mostly in the same one.
const KEPT: usize = 64;

/// All collections that were read lately.
#[derive(Debug, Default)]
pub(crate) struct GlobalHeap(Mutex<HashMap<u64, Arc<Collection>>>);

#[derive(Debug)]
struct Collection {
    bytes: Bytes,
    objects: HashMap<u16, Range<usize>>,
}

impl GlobalHeap {
    /// The object of a number in the collection at an address.
    pub(crate) fn get(&self, meta: &Meta, address: u64, index: u32) -> Result<Bytes> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
        let collection = match known {
            Some(collection) => collection,
            None => {
                let read = Arc::new(Collection::read(meta, address)?);
                let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= KEPT {
                    kept.clear();
                }
                kept.insert(address, Arc::clone(&read));
                read
            }
        };
        let found = u16::try_from(index).ok().and_then(|index| collection.objects.get(&index));
        let found =
            found.ok_or_else(|| Error::damaged_at(address, format!("heap object {index} is missing")))?;
        Ok(collection.bytes.slice(found.clone()))
    }
}

impl Collection {
    fn read(meta: &Meta, address: u64) -> Result<Collection> {
        let head = 8 + usize::from(meta.sizes.length);
        let bytes = meta.read(address, head as u64)?;
        let mut cursor = meta.cursor(&bytes, address, "global heap");
        cursor.signature(b"GCOL")?;
        cursor.version(1..=1)?;
        cursor.skip(3)?;
        let len = cursor.length()?;
        let bytes = meta.read(address, len)?;
        let mut cursor = meta.cursor(&bytes, address, "global heap");
        cursor.skip(head.min(bytes.len()))?;
        let mut objects = HashMap::new();
        while cursor.rest().len() >= head {
            let index = cursor.u16()?;
            cursor.skip(2 + 4)?;
            let len = cursor.length()?;
            // Object 0 is the room that is left.
            if index == 0 {
                break;
            }
            let start = cursor.position();
            let len = usize::try_from(len).map_err(|_| cursor.wrong("an object is larger than the heap"))?;
            cursor.skip(len)?;
            objects.insert(index, start..start + len);
            let gap = (len.next_multiple_of(8) - len).min(cursor.rest().len());
            cursor.skip(gap)?;
        }
        Ok(Collection { bytes, objects })
    }
}
