//! Columns of lists that all have one length: their rows are arrays of that shape, and not lists of any length.
//!
//! Embeddings and pixels are often written as lists, although each has as many numbers. Where the file shows that, a batch of them is
//! one array. What the file shows is not believed: a row whose list has another length is a bad row.

use super::{ColumnForm, columns::Columns};
use crate::shard::{BadRow, Blocks};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use infeed_core::{Dim, Error, FieldSpec, Result};
use std::sync::Arc;

/// Lists of one number are as often lists of at most one.
const SHORTEST: usize = 2;

/// Makes arrays of the columns whose lists have one length in all shards.
pub(crate) fn settle(columns: &mut Columns, shards: &[Arc<dyn Blocks>]) {
    for (number, field) in columns.fields.iter_mut().enumerate() {
        let ColumnForm::List(dtype) = field.how else { continue };
        let len = |(shard, places): (&Arc<dyn Blocks>, &Arc<[super::ColumnPlace]>)| {
            let place = &places[number];
            place.path.is_empty().then(|| shard.list_len(place.root)).flatten()
        };
        let has_rows = |(shard, _): &(&Arc<dyn Blocks>, _)| shard.block_rows().iter().any(|rows| *rows > 0);
        let mut lens = shards.iter().zip(&columns.places).filter(has_rows).map(len);
        let Some(Some(first)) = lens.next() else { continue };
        if first >= SHORTEST && lens.all(|len| len == Some(first)) {
            field.how = ColumnForm::Fixed(dtype, first);
            field.spec = FieldSpec::array(dtype, vec![Dim::Fixed(first)]);
            field.even = true;
        }
    }
}

/// The length of all lists of an array, if they have one and none is null.
pub(crate) fn list_len(array: &ArrayRef) -> Option<usize> {
    if array.null_count() > 0 || array.is_empty() {
        return None;
    }
    let mut lens = lens(array)?;
    let first = lens.next()?;
    lens.all(|len| len == first).then_some(first)
}

/// The lengths of lists.
fn lens(array: &ArrayRef) -> Option<Box<dyn Iterator<Item = usize> + '_>> {
    let between = |pair: &[i64]| usize::try_from(pair[1] - pair[0]).unwrap_or(0);
    Some(match array.data_type() {
        DataType::List(_) => {
            let offsets = array.as_list::<i32>().value_offsets();
            Box::new(offsets.windows(2).map(move |pair| between(&[pair[0].into(), pair[1].into()])))
        }
        DataType::LargeList(_) => Box::new(array.as_list::<i64>().value_offsets().windows(2).map(between)),
        DataType::ListView(_) => {
            Box::new(array.as_list_view::<i32>().value_sizes().iter().map(|len| *len as usize))
        }
        DataType::LargeListView(_) => {
            Box::new(array.as_list_view::<i64>().value_sizes().iter().map(|len| *len as usize))
        }
        _ => return None,
    })
}

/// Makes lists of one length of an array, and lists the rows that have another.
pub(crate) fn fixed(array: ArrayRef, name: &str, len: usize, bad: &mut Vec<BadRow>) -> Result<ArrayRef> {
    let (DataType::List(item)
    | DataType::LargeList(item)
    | DataType::ListView(item)
    | DataType::LargeListView(item)) = array.data_type()
    else {
        return Ok(array);
    };
    let width = i32::try_from(len).map_err(|_| Error::sample("its lists are too long"))?;
    let to = DataType::FixedSizeList(Arc::clone(item), width);
    let found = lens(&array).into_iter().flatten().enumerate();
    let other = found.filter(|(row, found)| *found != len && array.is_valid(*row));
    bad.extend(other.map(|(row, found)| {
        let what = format!(
            "the list in column `{name}` has {found} items, and those of the others have {len}; say lists=\"vary\" if they differ"
        );
        (row as u32, what)
    }));
    // A list of another length becomes null.
    let options = CastOptions { safe: true, ..CastOptions::default() };
    cast_with_options(&array, &to, &options)
        .map_err(|e| Error::sample(format!("column `{name}`: its lists are damaged: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{LargeListArray, ListArray, types::Float32Type};

    fn lists(all: &[Option<&[f32]>]) -> Vec<ArrayRef> {
        let rows = || all.iter().map(|row| row.map(|row| row.iter().map(|x| Some(*x)).collect::<Vec<_>>()));
        vec![
            Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(rows())),
            Arc::new(LargeListArray::from_iter_primitive::<Float32Type, _, _>(rows())),
        ]
    }

    #[test]
    fn lengths_are_found_and_others_are_named() {
        for array in lists(&[Some(&[1.0, 2.0]), Some(&[3.0, 4.0])]) {
            assert_eq!(list_len(&array), Some(2));
            assert_eq!(list_len(&array.slice(1, 1)), Some(2));
        }
        for array in lists(&[Some(&[1.0, 2.0]), None]) {
            assert_eq!(list_len(&array), None);
        }
        for array in lists(&[Some(&[1.0, 2.0]), Some(&[5.0]), None, Some(&[3.0, 4.0])]) {
            let (mut bad, sliced) = (Vec::new(), array.slice(1, 3));
            assert_eq!(list_len(&array), None);
            let made = fixed(sliced, "x", 2, &mut bad).unwrap();
            assert_eq!(bad.len(), 1);
            assert!(bad[0].0 == 0 && bad[0].1.contains("has 1 items"), "{bad:?}");
            let made = made.as_fixed_size_list();
            assert!(made.is_null(0) && made.is_null(1));
            assert_eq!(made.value(2).as_primitive::<Float32Type>().values(), &[3.0, 4.0]);
        }
    }
}
