//! Determines the fields of a source: what is requested, checked against the columns.

use super::args::TableArgs;
use crate::{
    block::MadeOf,
    field::{
        ColumnForm, Field,
        columns::{self, Columns},
        loose::Filling,
        ops,
    },
    shard::Blocks,
};
use infeed_core::{Dim, Dtype, Error, FieldSpec, Result};
use infeed_order::filter::Expr;
use serde_json::Value as Json;
use std::sync::Arc;

/// Finds the needed columns in every shard.
pub(crate) fn columns(shards: &[Arc<dyn Blocks>], args: &TableArgs) -> Result<Columns> {
    let mut needed: Vec<String> = args.columns.clone().unwrap_or_default();
    needed.extend(args.matrices.iter().flat_map(|matrix| matrix.columns.iter().cloned()));
    if let Some(text) = &args.filter {
        needed.extend(Expr::parse(text)?.names());
    }
    let all = args.columns.is_none() && args.matrices.is_empty();
    columns::common(shards, &needed, all)
}

/// Returns the fields of the source: requested columns, then matrices.
pub(crate) fn fields(columns: &Columns, args: &TableArgs) -> Result<Vec<(Arc<str>, FieldSpec, MadeOf)>> {
    let mut out = vec![];
    for (place, field) in columns.fields.iter().enumerate() {
        let asked = match &args.columns {
            None => args.matrices.is_empty(),
            Some(names) => names.iter().any(|name| {
                *field.name == **name
                    || field.name.strip_prefix(&**name).is_some_and(|rest| rest.starts_with('.'))
            }),
        };
        if asked {
            let fill = filling(field, args)?;
            out.push((field.name.clone(), field.spec.clone(), MadeOf::Column { field: place, fill }));
        }
    }
    for matrix in &args.matrices {
        let bad = |what: String| Error::argument(format!("matrix `{}`: {what}", matrix.name));
        if out.iter().any(|(name, ..)| **name == *matrix.name) {
            return Err(bad(
                "there is a column of that name among the fields: give it another one".to_owned()
            ));
        }
        if let Some(wrong) = matrix.ops.keys().find(|name| *name != "*" && !matrix.columns.contains(name)) {
            return Err(bad(format!("there are operations for `{wrong}`, which is not one of its columns")));
        }
        let mut made = vec![];
        for name in &matrix.columns {
            let place = columns.fields.iter().position(|field| *field.name == **name);
            let place = place.ok_or_else(|| {
                bad(format!("`{name}` is a struct: name its columns, as in `{name}.first`"))
            })?;
            let steps = matrix.ops.get(name).or_else(|| matrix.ops.get("*"));
            let ops = steps.map(|steps| ops::parse(name, steps)).transpose()?.unwrap_or_default();
            check(&columns.fields[place], &ops).map_err(bad)?;
            made.push((place, ops));
        }
        let shape = if matrix.scalar { vec![] } else { vec![Dim::Fixed(made.len())] };
        let spec = FieldSpec::array(matrix.dtype, shape);
        out.push((matrix.name.as_str().into(), spec, MadeOf::Matrix { dtype: matrix.dtype, columns: made }));
    }
    if out.is_empty() {
        return Err(Error::argument("no column is asked for: name one in columns= or leave columns= out"));
    }
    if let Some(wrong) =
        args.fill.keys().find(|name| *name != "*" && !columns.fields.iter().any(|f| *f.name == ***name))
    {
        return Err(Error::argument(format!("fill: there is no column `{wrong}` among those that are read")));
    }
    Ok(out)
}

/// Checks whether a column can be in a matrix.
fn check(field: &Field, steps: &[ops::Op]) -> Result<(), String> {
    let categories = match steps.first() {
        Some(ops::Op::Categories(list)) => Some(list),
        _ => None,
    };
    match (&field.how, categories) {
        (ColumnForm::Number(dtype), Some(list)) if dtype.is_float() || !list.texts.is_empty() => Err(
            format!("column `{}` is {}, and its categories are not whole numbers", field.name, field.plain),
        ),
        (ColumnForm::Text, Some(list)) if !list.ints.is_empty() => {
            Err(format!("column `{}` is text, and its categories are numbers", field.name))
        }
        (ColumnForm::Number(_), _) | (ColumnForm::Text, Some(_)) => Ok(()),
        (ColumnForm::Text, None) => Err(format!(
            "column `{}` is text: leave it out, or number its values with categories={{\"{}\": [...]}}",
            field.name, field.name
        )),
        _ => Err(format!("column `{}` is {}, and only numbers can be in a matrix", field.name, field.plain)),
    }
}

/// Returns the fill value of a column, checked against its type.
fn filling(field: &Field, args: &TableArgs) -> Result<Option<Filling>> {
    let own = args.fill.get(&*field.name);
    let Some(value) = own.or_else(|| args.fill.get("*")).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let filling = match (&field.how, value) {
        (ColumnForm::Number(Dtype::Bool), Json::Bool(value)) => {
            Some(Filling::Number(f64::from(u8::from(*value))))
        }
        (ColumnForm::Number(dtype) | ColumnForm::Fixed(dtype, _), Json::Number(number)) => {
            let number = number.as_f64().filter(|x| dtype.is_float() || x.fract() == 0.0);
            number.map(Filling::Number)
        }
        (ColumnForm::Text, Json::String(text)) => Some(Filling::Text(text.clone())),
        _ => None,
    };
    // A value for all columns applies only to those it fits.
    match (filling, own) {
        (None, Some(_)) => Err(Error::argument(format!(
            "fill: {value} does not fit column `{}` of {}",
            field.name, field.plain
        ))),
        (filling, _) => Ok(filling),
    }
}
