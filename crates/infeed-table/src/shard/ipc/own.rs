//! Copies what the safety of a decoded batch depends on out of a mapped file.
//!
//! Arrow checks offsets, keys, views and text once, and then uses them unchecked. Another process can write to a mapped file
//! after the check. So these buffers are copied, and the copies are checked. Numbers and binary values, which make up most
//! of a file, stay where they are: all bytes are valid there.

use crate::shard::limit::BlockLimit;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use infeed_core::{Error, Result, blocks::probe};

/// Returns a column that stays valid whatever is written to the file.
pub(super) fn own(column: &ArrayRef, limit: &BlockLimit) -> Result<ArrayRef> {
    let data = column.to_data();
    let bytes = copied_bytes(&data);
    limit.check(bytes)?;
    probe(bytes)?;
    Ok(make_array(copy(&data)?))
}

/// How many of the first buffers are copied; in the others, all bytes are valid.
fn copied_buffers(data: &ArrayData) -> usize {
    match data.data_type() {
        kind if kind.is_primitive() => 0,
        DataType::FixedSizeBinary(_) => 0,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => 1,
        _ => data.buffers().len(),
    }
}

fn copied_bytes(data: &ArrayData) -> u64 {
    let own: u64 = data.buffers()[..copied_buffers(data)].iter().map(|buffer| buffer.len() as u64).sum();
    data.child_data().iter().map(copied_bytes).fold(own, u64::saturating_add)
}

fn copy(data: &ArrayData) -> Result<ArrayData> {
    let copied = copied_buffers(data);
    let buffers = data.buffers().iter().enumerate();
    let buffers = buffers.map(|(i, b)| if i < copied { Buffer::from(b.as_slice()) } else { b.clone() });
    let nulls = data.nulls().map(|nulls| {
        let bits = nulls.inner();
        NullBuffer::new(BooleanBuffer::new(Buffer::from(bits.values()), bits.offset(), bits.len()))
    });
    let children = data.child_data().iter().map(copy).collect::<Result<_>>()?;
    data.clone().into_builder().buffers(buffers.collect()).nulls(nulls).child_data(children).build().map_err(
        |e| Error::sample(format!("it cannot be decoded ({e}); it was written to while it was read")),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::IpcShard, *};
    use crate::shard::{
        Blocks,
        bytes::{Reading, ShardBytes},
    };
    use arrow_array::{
        BinaryArray, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
        StringViewArray, StructArray, types::Int32Type,
    };
    use arrow_ipc::writer::FileWriter;
    use infeed_core::Store;
    use std::{fs::File, ops::Range, sync::Arc};

    fn columns() -> Vec<(&'static str, ArrayRef)> {
        let texts = || (0..50).map(|i| (i % 7 > 0).then(|| format!("the text of row {i}")));
        let numbers: ArrayRef = Arc::new((0..50).map(|i| (i % 5 > 0).then_some(i)).collect::<Int32Array>());
        let lists = (0..50).map(|i| Some((0..i % 4).map(move |j| Some(i * j))));
        let fields = [("t", Arc::new(texts().collect::<StringArray>()) as ArrayRef), ("n", numbers)];
        vec![
            ("number", Arc::new((0..50).collect::<Int64Array>())),
            ("text", Arc::new(texts().collect::<StringArray>())),
            ("view", Arc::new(texts().collect::<StringViewArray>())),
            (
                "word",
                Arc::new((0..50).map(|i| Some(["a", "b"][i % 2])).collect::<DictionaryArray<Int32Type>>()),
            ),
            ("list", Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))),
            ("struct", Arc::new(StructArray::try_from(fields.to_vec()).unwrap())),
            ("bytes", Arc::new(BinaryArray::from_iter_values((0..50).map(|i| format!("bytes {i}"))))),
        ]
    }

    /// Whether a buffer of the array, or of its children, lies between these addresses: of those that are copied, of the others.
    fn lies_in(data: &ArrayData, map: &Range<*const u8>) -> (bool, bool) {
        let copied = copied_buffers(data);
        let lies = |buffers: &[Buffer]| buffers.iter().any(|b| !b.is_empty() && map.contains(&b.as_ptr()));
        let nulls = data.nulls().is_some_and(|nulls| map.contains(&nulls.validity().as_ptr()));
        let own = (nulls || lies(&data.buffers()[..copied]), lies(&data.buffers()[copied..]));
        data.child_data().iter().map(|child| lies_in(child, map)).fold(own, |a, b| (a.0 || b.0, a.1 || b.1))
    }

    #[test]
    fn what_arrow_checks_once_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.arrow");
        let batch = RecordBatch::try_from_iter(columns()).unwrap();
        let mut out = FileWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
        out.write(&batch).unwrap();
        out.finish().unwrap();
        let store: Arc<dyn Store> = crate::tests::disk();
        let shard = store.stat(&[path.display().to_string()]).unwrap().remove(0);
        let bytes = ShardBytes::open(&store, &shard, Reading::Mapped, &Arc::default()).unwrap();
        assert!(bytes.is_mapped());
        let map = bytes.get(0, shard.size).unwrap().as_ptr_range();
        let read = IpcShard::open(bytes).unwrap().read(0, &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        for (column, (name, want)) in read.iter().zip(columns()) {
            assert_eq!(column, &want, "{name}");
            // Numbers and binary values stay where they are.
            let in_place = ["number", "list", "struct", "bytes"].contains(&name);
            assert_eq!(lies_in(&column.to_data(), &map), (false, in_place), "{name}");
        }
    }
}
