//! Reads the value range of a column chunk from its statistics.

use ::parquet::file::{metadata::ColumnChunkMetaData, statistics::Statistics};
use arrow_schema::DataType;
use infeed_order::filter::{Range, Scalar};

/// Returns the smallest and largest value and whether there are nulls; `None` if not known for certain.
pub(super) fn range(kind: &DataType, chunk: &ColumnChunkMetaData, rows: u64) -> Option<Range> {
    let statistics = chunk.statistics()?;
    let nulls = statistics.null_count_opt();
    let some = nulls != Some(0);
    if nulls == Some(rows) {
        return Some(Range::empty());
    }
    let kind = match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    };
    let (min, max) = match (statistics, kind) {
        (Statistics::Boolean(s), DataType::Boolean) => {
            (Scalar::Bool(*s.min_opt()?), Scalar::Bool(*s.max_opt()?))
        }
        (Statistics::Int32(s), DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32) => {
            (Scalar::Int((*s.min_opt()?).into()), Scalar::Int((*s.max_opt()?).into()))
        }
        (Statistics::Int64(s), DataType::Int64) => (Scalar::Int(*s.min_opt()?), Scalar::Int(*s.max_opt()?)),
        (Statistics::Float(s), DataType::Float32) => {
            (Scalar::Float((*s.min_opt()?).into()), Scalar::Float((*s.max_opt()?).into()))
        }
        (Statistics::Double(s), DataType::Float64) => {
            (Scalar::Float(*s.min_opt()?), Scalar::Float(*s.max_opt()?))
        }
        // Old writers compared text as signed bytes. Long texts are truncated, but remain valid bounds.
        (Statistics::ByteArray(s), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
            if !statistics.is_min_max_deprecated() =>
        {
            let text = |bytes: &[u8]| Some(Scalar::Text(std::str::from_utf8(bytes).ok()?.to_owned().into()));
            (text(s.min_opt()?.data())?, text(s.max_opt()?.data())?)
        }
        _ => return None,
    };
    Range::new(min, max, some)
}
