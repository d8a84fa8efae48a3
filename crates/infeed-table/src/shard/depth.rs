//! How deep types may be nested.
//!
//! Libraries and our own code walk nested types by recursion, and a file of a few kilobytes can describe types that are nested
//! deeper than any stack. So every schema is measured, without recursion, before anything else looks at it.

use arrow_schema::{DataType, Schema};
use infeed_core::{Error, Result};

/// Deepest nesting of lists, structs and maps inside each other. Real data has less than ten.
pub(crate) const DEEPEST: usize = 100;

/// What is wrong with a type that is nested deeper.
pub(crate) fn too_deep() -> String {
    format!(
        "its columns are nested more than {DEEPEST} levels deep, and no deeper types are read; flatten them, or leave the \
         file out"
    )
}

/// Refuses schemas that are nested too deep.
pub(crate) fn check(schema: &Schema, shard: &str) -> Result<()> {
    for column in schema.fields() {
        let mut open: Vec<(&DataType, usize)> = vec![(column.data_type(), 1)];
        while let Some((kind, depth)) = open.pop() {
            if depth > DEEPEST + 1 {
                return Err(Error::Format {
                    shard: shard.to_owned(),
                    offset: 0,
                    what: format!("column `{}`: {}", column.name(), too_deep()),
                });
            }
            inner(kind, |part| open.push((part, depth + 1)));
        }
    }
    Ok(())
}

/// Hands out the types that a type is made of.
pub(crate) fn inner<'a>(kind: &'a DataType, mut each: impl FnMut(&'a DataType)) {
    match kind {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => each(item.data_type()),
        DataType::Struct(parts) => parts.iter().for_each(|part| each(part.data_type())),
        DataType::Union(parts, _) => parts.iter().for_each(|(_, part)| each(part.data_type())),
        DataType::Dictionary(_, values) => each(values),
        DataType::RunEndEncoded(_, values) => each(values.data_type()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;

    fn lists(depth: usize) -> Schema {
        let mut kind = DataType::Int32;
        for _ in 0..depth {
            kind = DataType::new_list(kind, true);
        }
        Schema::new(vec![Field::new("x", kind, true)])
    }

    #[test]
    fn a_hundred_levels_are_enough() {
        check(&lists(0), "t").unwrap();
        check(&lists(DEEPEST), "t").unwrap();
        let text = check(&lists(DEEPEST + 1), "t").unwrap_err().to_string();
        assert!(text.contains("more than 100 levels") && text.contains("`x`"), "{text}");
    }
}
