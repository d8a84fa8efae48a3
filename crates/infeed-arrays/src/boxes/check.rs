//! Checks that variables can be cut and stacked, and says what the fields are.

use super::{Cut, Field, Form, fill, patches::Edge};
use crate::{
    array::Element,
    open::missing,
    source::{Part, Parts, kind},
};
use infeed_core::{Error, Result};
use std::sync::Arc;

/// The names of the fields, and what they are made of.
pub(super) fn fields(found: &Parts, form: &Form) -> Result<Vec<(Arc<str>, Field)>> {
    let Some(first) = found.parts.first() else { return Ok(Vec::new()) };
    let all: Vec<usize> = (0..found.names.len()).collect();
    let horizon = form.windows.map_or(0, |windows| windows.horizon);
    let targets: Vec<usize> = match &form.targets {
        _ if horizon == 0 => Vec::new(),
        None => all.clone(),
        Some(names) => names
            .iter()
            .map(|name| {
                let at = found.names.iter().position(|own| **own == **name);
                at.ok_or_else(|| missing("targets=", name, found.names.iter().map(|own| &**own)))
            })
            .collect::<Result<_>>()?,
    };
    if form.windows.is_some() || form.stack.is_some() {
        let text = |at: &&usize| matches!(first.arrays[**at].element(), Element::Text(_));
        if let Some(at) = all.iter().find(text) {
            return Err(Error::argument(format!(
                "`{}` is text, and windows and stacks are of numbers: choose other fields",
                found.names[*at]
            )));
        }
    }
    let mut out = Vec::new();
    match &form.stack {
        None => {
            let one = |at: &usize, target| Field::Values { variables: vec![*at], target };
            out.extend(all.iter().map(|at| (Arc::clone(&found.names[*at]), one(at, false))));
            let target = |at: &usize| (Arc::from(format!("{}.target", found.names[*at])), one(at, true));
            out.extend(targets.iter().map(target));
        }
        Some(name) => {
            stacked(found, name)?;
            out.push((Arc::from(name.as_str()), Field::Values { variables: all, target: false }));
            if !targets.is_empty() {
                let field = Field::Values { variables: targets, target: true };
                out.push((Arc::from(format!("{name}.target")), field));
            }
        }
    }
    if form.patches.is_some() {
        out.push((Arc::from("origin"), Field::Origin));
    }
    for (at, (name, _)) in out.iter().enumerate() {
        if out[..at].iter().any(|(other, _)| other == name) {
            return Err(Error::argument(format!(
                "there would be two fields `{name}`: boxes make one of this name, and the data has another; leave it out"
            )));
        }
    }
    Ok(out)
}

/// Checks that all variables can be one field.
fn stacked(found: &Parts, name: &str) -> Result<()> {
    for part in &found.parts {
        let of = |at: usize| found.row(part, at).map(|(shape, _)| (part.arrays[at].element(), shape));
        let first = of(0)?;
        for at in 1..found.names.len() {
            let own = of(at)?;
            if own != first {
                let said = |(element, shape): &(Element, Vec<u64>)| format!("{}{shape:?}", kind(*element));
                return Err(Error::argument(format!(
                    "{}: `{}` is {} a row and `{}` is {}: stack=\"{name}\" takes variables of equal type and shape; choose them",
                    found.place(part),
                    found.names[0],
                    said(&first),
                    found.names[at],
                    said(&own)
                )));
            }
        }
    }
    Ok(())
}

/// The sides that patches are cut out of, about which all variables must agree.
pub(super) fn sides(found: &Parts, form: &Form, part: &Part) -> Result<Vec<u64>> {
    let Some(patches) = &form.patches else { return Ok(Vec::new()) };
    let axes = patches.size.len();
    let mut first: Option<(usize, Vec<u64>)> = None;
    for at in 0..found.names.len() {
        let (shape, _) = found.row(part, at)?;
        // One number, or one text, belongs to all patches of its row.
        if shape.is_empty() {
            continue;
        }
        let last = shape.len().checked_sub(axes).map(|from| shape[from..].to_vec());
        let Some(last) = last else {
            return Err(Error::argument(format!(
                "{}: a row of `{}` has the shape {shape:?}, and patch={:?} is cut out of the last {axes} axes; choose other \
                 fields or a patch of fewer axes",
                found.place(part),
                found.names[at],
                patches.size
            )));
        };
        match &first {
            None => first = Some((at, last)),
            Some((_, sides)) if *sides == last => {}
            Some((other, _)) => {
                let other_shape = found.row(part, *other)?.0;
                return Err(Error::argument(format!(
                    "{}: a row of `{}` has the shape {other_shape:?} and one of `{}` {shape:?}: patches are cut at the same place of \
                     all fields, so their last {axes} axes must agree; choose fields that do",
                    found.place(part),
                    found.names[*other],
                    found.names[at]
                )));
            }
        }
    }
    let Some((at, sides)) = first else {
        let what = "rows are single numbers, and patches need axes";
        return Err(Error::argument(format!("{}: {what}", found.place(part))));
    };
    let small = sides.iter().zip(&patches.size).any(|(side, size)| side < size);
    if small && patches.edge == Edge::Shift {
        return Err(Error::argument(format!(
            "{}: the last axes {sides:?} of `{}` are smaller than patch={:?}, which cannot be shifted; take patch_edge=\"pad\", or \
             \"drop\" to leave it out",
            found.place(part),
            found.names[at],
            patches.size
        )));
    }
    Ok(sides)
}

/// What fills up patches of each variable.
pub(super) fn fills(found: &Parts, form: &Form, cuts: &[Cut], elements: &[Element]) -> Result<Vec<Vec<u8>>> {
    let value = form.patches.as_ref().map_or(0.0, |patches| patches.fill);
    let one = |(at, element): (usize, &Element)| match element {
        Element::Number(dtype) if cuts.iter().any(|cut| cut.variables[at].cut) => fill::bytes(value, *dtype)
            .ok_or_else(|| {
                let what = format!("patch_fill={value} is no number that `{}` can have", found.names[at]);
                Error::argument(format!("{what}: it is {}", dtype.name()))
            }),
        _ => Ok(vec![0]),
    };
    elements.iter().enumerate().map(one).collect()
}

/// The error for no rows at all, with the numbers.
pub(super) fn none(found: &Parts, form: &Form) -> Error {
    let mut what = "there is no row".to_owned();
    let lengths: Vec<u64> = found.parts.iter().filter_map(|part| found.count(part).ok()).collect();
    let (longest, all) = (lengths.iter().max().copied().unwrap_or(0), lengths.iter().sum::<u64>());
    let across = form.windows.is_some_and(|windows| windows.across);
    let has = if across { all } else { longest };
    if let Some(windows) = form.windows.filter(|windows| windows.span() > has) {
        what += &format!(
            ": a window of {} steps{} takes {}, and ",
            windows.length,
            match windows.horizon {
                0 => String::new(),
                horizon => format!(", a gap of {} and a horizon of {horizon}", windows.gap),
            },
            windows.span(),
        );
        let files = found.parts.len();
        what += &match across {
            true => format!("all {files} files have {all} together"),
            false => format!("the longest of {files} files has {longest}; windows do not cross files"),
        };
        if !across && windows.span() <= all {
            what += " unless across=True lets them";
        }
    } else if let (Some(patches), Some(part)) = (&form.patches, found.parts.first()) {
        let sides = sides(found, form, part).unwrap_or_default();
        what += &format!(
            ": patch={:?} does not fit into the last axes {sides:?} of {}",
            patches.size,
            found.place(part)
        );
        what += "; take a smaller one, or patch_edge=\"pad\"";
    }
    Error::argument(what)
}
