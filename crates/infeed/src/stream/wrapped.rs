//! Any iterator as a stream.

use super::ahead::panicked;
use infeed_core::{
    Dim, Error, FieldKind, FieldSpec, Flow, Hold, Record, Result, Spec, Stream, StreamRow, Value,
};
use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

/// Items that are read to learn kinds and shapes.
const LOOK_AT: usize = 16;

/// One item: its fields by name.
type Item = Vec<(Arc<str>, Value)>;
/// The iterator a wrapped stream takes its rows from.
pub type Items = Box<dyn Iterator<Item = Result<Item>> + Send>;
type Make = Arc<dyn Fn() -> Result<Items> + Send + Sync>;

/// A stream over an iterator that can be created again for every epoch.
///
/// The first items are read when it is wrapped, to learn the fields; the first flow continues from there.
pub struct Wrapped {
    name: Arc<str>,
    make: Make,
    spec: Spec,
    /// The iterator whose first items have been read, for the first flow.
    begun: Mutex<Option<Begun>>,
}

/// An iterator, and the items that were taken from it beforehand.
struct Begun {
    looked_at: VecDeque<Result<Item>>,
    items: Items,
}

impl Wrapped {
    /// Wraps the iterators that `make` creates. Fields, kinds and shapes are those of the first items.
    pub fn new(name: impl Into<Arc<str>>, make: Make) -> Result<Wrapped> {
        let name = name.into();
        let mut items = guarded(|| make())??;
        let mut looked_at = VecDeque::new();
        let mut spec = Spec::default();
        while looked_at.len() < LOOK_AT {
            let Some(item) = guarded(|| items.next())? else { break };
            let failed = item.is_err();
            if let Ok(item) = &item {
                learn(&mut spec, item, &name)?;
            }
            looked_at.push_back(item);
            // The error is returned in its place, when the item is requested.
            if failed {
                break;
            }
        }
        if let (Some(Err(error)), true) = (looked_at.front(), spec.fields.is_empty()) {
            return Err(error.clone());
        }
        Ok(Wrapped { name, make, spec, begun: Mutex::new(Some(Begun { looked_at, items })) })
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wrapped").field("name", &self.name).field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl Stream for Wrapped {
    fn runs_user_code(&self) -> bool {
        true
    }

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn parts(&self) -> u64 {
        1
    }

    fn start(&self, parts: &[u64]) -> Result<Box<dyn Flow>> {
        let begun = match parts {
            [] => Begun { looked_at: VecDeque::new(), items: Box::new(std::iter::empty()) },
            [0] => match self.begun.hold().take() {
                Some(begun) => begun,
                None => Begun { looked_at: VecDeque::new(), items: guarded(|| (self.make)())?? },
            },
            _ => return Err(Error::argument(format!("`{}` has only the part 0, not {parts:?}", self.name))),
        };
        Ok(Box::new(WrappedFlow { name: Arc::clone(&self.name), begun, row: 0, failed: None }))
    }

    fn describe(&self) -> String {
        format!("stream `{}`, made item by item", self.name)
    }
}

/// A running [`Wrapped`].
struct WrappedFlow {
    name: Arc<str>,
    begun: Begun,
    row: u64,
    /// The panic after which the iterator cannot be used.
    failed: Option<Error>,
}

impl fmt::Debug for WrappedFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrappedFlow")
            .field("name", &self.name)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl Flow for WrappedFlow {
    fn next(&mut self, fields: &[Arc<str>]) -> Result<Option<StreamRow>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let item = match self.begun.looked_at.pop_front() {
            Some(item) => Some(item),
            None => guarded(|| self.begun.items.next()).inspect_err(|e| self.failed = Some(e.clone()))?,
        };
        let Some(item) = item else { return Ok(None) };
        let key = self.row.to_string();
        self.row += 1;
        let mut item = item?;
        let mut values = Vec::with_capacity(fields.len());
        for (place, wanted) in fields.iter().enumerate() {
            // Values are moved out, so a field that is requested twice has to be copied the second time.
            let earlier = fields[..place].iter().position(|f| f == wanted);
            values.push(match earlier {
                Some(earlier) => values.get(earlier).cloned().unwrap_or_default(),
                None => {
                    let found = item.iter_mut().find(|(name, _)| name == wanted);
                    found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
                }
            });
        }
        Ok(Some(StreamRow { shard: Arc::clone(&self.name), key, record: Ok(Record { fields: values }) }))
    }
}

/// Calls the user's code; a panic becomes an error.
fn guarded<T>(call: impl FnOnce() -> T) -> Result<T> {
    // State that the call left inconsistent is not used again: the flow ends with the error.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panicked(&*panic))
}

/// Merges the fields of an item into the spec.
fn learn(spec: &mut Spec, item: &Item, stream: &str) -> Result<()> {
    for (place, (name, value)) in item.iter().enumerate() {
        if item[..place].iter().any(|(other, _)| other == name) {
            return Err(Error::plan(stream, format!("an item has the field `{name}` twice")));
        }
        let Some(seen) = shape_of(value) else { continue };
        let Some(known) = spec.position(name) else {
            spec.fields.push((Arc::clone(name), seen));
            continue;
        };
        let known = &mut spec.fields[known].1;
        if (known.kind, known.dtype, known.shape.len()) != (seen.kind, seen.dtype, seen.shape.len()) {
            let what = format!("the field `{name}` is {known} in one item and {seen} in another");
            return Err(Error::plan(stream, what));
        }
        for (known, seen) in known.shape.iter_mut().zip(seen.shape) {
            if *known != seen {
                *known = Dim::Any;
            }
        }
    }
    Ok(())
}

/// Returns the spec of one value; `None` if it is missing.
fn shape_of(value: &Value) -> Option<FieldSpec> {
    let fixed = |shape: &[usize]| shape.iter().copied().map(Dim::Fixed).collect();
    Some(match value {
        Value::Missing => return None,
        Value::Bytes(_) => FieldSpec::encoded(),
        Value::Text(_) => FieldSpec::text(),
        Value::Json(_) => FieldSpec::json(),
        Value::Tensor(tensor) => FieldSpec::array(tensor.dtype, fixed(&tensor.shape)),
        Value::Image(image) => FieldSpec {
            kind: FieldKind::Image(image.finish.layout),
            dtype: image.finish.dtype,
            shape: fixed(&image.shape()),
        },
        // Streams hold records, and only decoders make these.
        Value::Masks(_) | Value::Boxes(_) | Value::Points(_) => return None,
    })
}
