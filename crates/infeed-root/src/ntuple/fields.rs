//! What the fields of the schema are as columns of a table.

use super::schema::{Choices, Schema};
use crate::table::Refused;
use infeed_core::{Dim, Dtype, FieldSpec};
use std::sync::Arc;

/// Fields inside of fields.
const DEEPEST: usize = 64;
/// Elements of arrays in one entry.
const LARGEST_ARRAY: u64 = 1 << 28;

/// Columns of the file, of which each cluster has one.
pub(super) type Choice = Vec<usize>;

/// How the elements of an entry lie.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// So many.
    Flat(Choice, usize),
    /// Items of so many elements, and a column that says where they end.
    Ragged { ends: Choice, data: Choice, item: usize },
    /// How many items a collection has.
    Sizes(Choice),
}

/// A column of a table.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: Arc<str>,
    pub(super) dtype: Dtype,
    pub(super) spec: FieldSpec,
    pub(super) shape: Shape,
}

/// Why a field is no column.
type Why = String;

/// What is above a field.
#[derive(Clone, Default)]
struct Above {
    /// Where the entries of the collection end that it is in.
    ends: Option<Choice>,
    /// Arrays that it is in.
    sides: Vec<usize>,
    depth: usize,
}

/// Makes columns of fields.
pub(super) struct Fields<'a> {
    schema: &'a Schema,
    choices: Choices,
    /// The fields in a field.
    inside: Vec<Vec<usize>>,
    pub(super) columns: Vec<Column>,
    pub(super) refused: Vec<Refused>,
}

impl<'a> Fields<'a> {
    /// All columns of a schema.
    pub(super) fn new(schema: &'a Schema) -> Self {
        let mut inside = vec![Vec::new(); schema.fields.len()];
        let mut top = Vec::new();
        for (at, field) in schema.fields.iter().enumerate() {
            if field.parent == at {
                top.push(at);
            } else if let Some(above) = inside.get_mut(field.parent) {
                above.push(at);
            }
        }
        let (columns, refused) = (Vec::new(), Vec::new());
        let mut fields = Fields { schema, choices: schema.choices(), inside, columns, refused };
        for field in top {
            fields.add(field, &schema.fields[field].name, Above::default());
        }
        fields
    }

    fn add(&mut self, field: usize, name: &str, above: Above) {
        if let Err(why) = self.try_add(field, name, above) {
            self.refused.push(Refused { name: name.to_owned(), why, damaged: false });
        }
    }

    fn try_add(&mut self, field: usize, name: &str, mut above: Above) -> Result<(), Why> {
        let described = &self.schema.fields[field];
        let class = described.class.as_str();
        let (inside, own) = (self.inside[field].clone(), self.choices[field].clone());
        above.depth += 1;
        if above.depth > DEEPEST {
            return Err("its fields are inside of each other too often".to_owned());
        }
        if let Some(count) = described.repeats {
            let product = above.sides.iter().fold(count, |all, side| all.saturating_mul(*side as u64));
            if !(1..=LARGEST_ARRAY).contains(&product) {
                return Err(format!("an array of {count} elements is not read"));
            }
            above.sides.push(count as usize);
        }
        match (described.role, inside.as_slice(), own.as_slice()) {
            // Arrays, enums and atomic numbers have one field inside.
            (0, [inner], []) => self.add(*inner, name, above),
            (0, [], [ends, text]) if class == "std::string" => {
                if above.ends.is_some() || !above.sides.is_empty() {
                    return Err("several texts in an entry are not read".to_owned());
                }
                let shape = Shape::Ragged { ends: ends.clone(), data: text.clone(), item: 1 };
                self.push(name, Dtype::U8, FieldSpec::text(), shape)?;
            }
            (0, [], [ends]) if class.starts_with("ROOT::RNTupleCardinality<") => {
                let dtype = if class.contains("32") { Dtype::U32 } else { Dtype::U64 };
                if above.ends.is_some() || !above.sides.is_empty() {
                    return Err("lengths of lists in lists are not read".to_owned());
                }
                self.push(name, dtype, spec(dtype, &above), Shape::Sizes(ends.clone()))?;
            }
            (0, [], [data]) => {
                let dtype = number(class).ok_or_else(|| format!("fields of type {class} are not read"))?;
                let item = above.sides.iter().product();
                let data = data.clone();
                let spec = spec(dtype, &above);
                let shape = match above.ends {
                    Some(ends) => Shape::Ragged { ends, data, item },
                    None => Shape::Flat(data, item),
                };
                self.push(name, dtype, spec, shape)?;
            }
            (1, [inner], [ends]) => {
                if above.ends.is_some() {
                    return Err("lists of lists are not read".to_owned());
                }
                if !above.sides.is_empty() {
                    return Err("arrays of lists are not read".to_owned());
                }
                above.ends = Some(ends.clone());
                self.add(*inner, name, above);
            }
            (2, [_, ..], []) => {
                for inner in inside {
                    // Members of bases are members.
                    let below = match self.schema.fields[inner].name.as_str() {
                        base if base.starts_with(':') => name.to_owned(),
                        member => format!("{name}.{member}"),
                    };
                    self.add(inner, &below, above.clone());
                }
            }
            (2, [], _) => return Err("it has no members".to_owned()),
            (3, ..) => return Err(format!("{} is a variant, which is not read", shown(class))),
            (4, ..) => return Err(format!("streamed objects of class {class} are not read")),
            _ => return Err(format!("fields of type {} are not read", shown(class))),
        }
        Ok(())
    }

    /// Adds a column whose encodings fit.
    fn push(&mut self, name: &str, dtype: Dtype, spec: FieldSpec, shape: Shape) -> Result<(), Why> {
        let (ends, data) = match &shape {
            Shape::Flat(data, _) => (None, Some(data)),
            Shape::Ragged { ends, data, .. } => (Some(ends), Some(data)),
            Shape::Sizes(ends) => (Some(ends), None),
        };
        for column in ends.into_iter().flatten() {
            if !self.schema.columns[*column].encoding.as_ref().map_err(Clone::clone)?.is_index() {
                return Err("its collection is counted by a column that is no index".to_owned());
            }
        }
        for column in data.into_iter().flatten() {
            if !self.schema.columns[*column].encoding.as_ref().map_err(Clone::clone)?.gives(dtype) {
                return Err(format!("it is {dtype}, and stored as something else"));
            }
        }
        self.columns.push(Column { name: name.into(), dtype, spec, shape });
        Ok(())
    }
}

fn shown(class: &str) -> &str {
    if class.is_empty() { "without a name" } else { class }
}

fn spec(dtype: Dtype, above: &Above) -> FieldSpec {
    let free = above.ends.as_ref().map(|_| Dim::Any);
    let fixed = above.sides.iter().map(|side| Dim::Fixed(*side));
    FieldSpec::array(dtype, free.into_iter().chain(fixed).collect())
}

/// The numbers of a type.
fn number(class: &str) -> Option<Dtype> {
    Some(match class {
        "bool" => Dtype::Bool,
        "char" | "std::int8_t" => Dtype::I8,
        "std::byte" | "std::uint8_t" => Dtype::U8,
        "std::int16_t" => Dtype::I16,
        "std::uint16_t" => Dtype::U16,
        "std::int32_t" => Dtype::I32,
        "std::uint32_t" => Dtype::U32,
        "std::int64_t" => Dtype::I64,
        "std::uint64_t" => Dtype::U64,
        "float" => Dtype::F32,
        "double" => Dtype::F64,
        // A field of its own, which repeats.
        bits if bits.starts_with("std::bitset<") => Dtype::Bool,
        _ => return None,
    })
}
