//! The arguments that make boxes of rows.

use super::{
    patches::{Edge, Patches},
    windows::Windows,
};
use crate::open::wanted;
use infeed_core::{Args, Error, Param, Result};

const PARAMS: [Param; 13] = [
    Param {
        name: "window",
        python: "int | None",
        default: Some("null"),
        about: "steps of a row along the axis of rows, which stays as the first axis of each field",
    },
    Param {
        name: "stride",
        python: "int",
        default: Some("1"),
        about: "steps from the beginning of one window to the next",
    },
    Param {
        name: "horizon",
        python: "int",
        default: Some("0"),
        about: "steps behind the window that become `NAME.target`; 0 for none",
    },
    Param { name: "gap", python: "int", default: Some("0"), about: "steps between a window and its target" },
    Param {
        name: "across",
        python: "bool",
        default: Some("false"),
        about: "let windows go from one file to the next, in the order of their names",
    },
    Param {
        name: "targets",
        python: "Sequence[str] | None",
        default: Some("null"),
        about: "the fields that have a target; all if not given",
    },
    Param {
        name: "patch",
        python: "Sequence[int] | None",
        default: Some("null"),
        about: "sides of the boxes that are cut out of the last axes of a row",
    },
    Param {
        name: "patch_stride",
        python: "int | Sequence[int] | None",
        default: Some("null"),
        about: "from one patch of the grid to the next, one number or one for each axis; the patch itself if not given",
    },
    Param {
        name: "patch_edge",
        python: "PatchEdge",
        default: Some("\"drop\""),
        about: "what the grid does not meet at the end: `drop`, `shift` or `pad`",
    },
    Param {
        name: "patch_fill",
        python: "float",
        default: Some("0"),
        about: "what patches are filled up with (`patch_edge=\"pad\"`)",
    },
    Param {
        name: "patches",
        python: "int | None",
        default: Some("null"),
        about: "random places for each row instead of a grid",
    },
    Param {
        name: "patch_seed",
        python: "int",
        default: Some("0"),
        about: "where random places are drawn from",
    },
    Param {
        name: "stack",
        python: "str | bool | None",
        default: Some("null"),
        about: "all fields as one of this name (`True`: `data`), with a new axis in front of the row's own",
    },
];

/// The parameters of a format, and those of boxes. `N` is the number of all.
pub(crate) const fn with_boxes<const N: usize>(own: &[Param]) -> [Param; N] {
    assert!(N == own.len() + PARAMS.len());
    let mut out = [PARAMS[0]; N];
    let mut at = 0;
    while at < N {
        out[at] = if at < own.len() { own[at] } else { PARAMS[at - own.len()] };
        at += 1;
    }
    out
}

/// What a box is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    pub(crate) windows: Option<Windows>,
    /// The fields that have a target; `None` for all.
    pub(crate) targets: Option<Vec<String>>,
    pub(crate) patches: Option<Patches>,
    /// What the one field is called that all become.
    pub(crate) stack: Option<String>,
}

impl Form {
    /// Reads the arguments. `None` if rows are what they are without them.
    pub(crate) fn read(args: &Args) -> Result<Option<Form>> {
        let windows = windows(args)?;
        let targets = wanted(args, "targets")?;
        if targets.is_some() && windows.is_none_or(|windows| windows.horizon == 0) {
            return Err(args.error("targets", "needs horizon= to say how many steps they have"));
        }
        let patches = patches(args)?;
        let stack = match args.value("stack") {
            None => None,
            Some(value) => match (value.as_bool(), value.as_str()) {
                (Some(true), _) => Some("data".to_owned()),
                (Some(false), _) => None,
                (_, Some(name)) if !name.is_empty() => Some(name.to_owned()),
                _ => return Err(args.error("stack", "must be the name of a field, or True")),
            },
        };
        if windows.is_none() && patches.is_none() && stack.is_none() {
            return Ok(None);
        }
        Ok(Some(Form { windows, targets, patches, stack }))
    }
}

fn number(args: &Args, name: &str, least: i64) -> Result<u64> {
    args.int(name, least).map(i64::unsigned_abs)
}

/// An error about an argument that is given without what it belongs to.
fn alone(args: &Args, name: &str, needs: &str) -> Error {
    args.error(name, &format!("belongs to {needs}=, which is not given"))
}

fn windows(args: &Args) -> Result<Option<Windows>> {
    let (stride, horizon) = (number(args, "stride", 1)?, number(args, "horizon", 0)?);
    let (gap, across) = (number(args, "gap", 0)?, args.flag("across")?);
    if args.is_none("window") {
        let given =
            [("stride", stride != 1), ("horizon", horizon != 0), ("gap", gap != 0), ("across", across)];
        return match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(alone(args, name, "window")),
            None => Ok(None),
        };
    }
    if gap > 0 && horizon == 0 {
        return Err(alone(args, "gap", "horizon"));
    }
    Ok(Some(Windows { length: number(args, "window", 1)?, stride, horizon, gap, across }))
}

fn patches(args: &Args) -> Result<Option<Patches>> {
    let edge = match args.text("patch_edge")? {
        "drop" => Edge::Drop,
        "shift" => Edge::Shift,
        "pad" => Edge::Pad,
        _ => return Err(args.error("patch_edge", "must be \"drop\", \"shift\" or \"pad\"")),
    };
    let (fill, seed) = (args.float("patch_fill")?, number(args, "patch_seed", 0)?);
    if args.is_none("patch") {
        let given = [
            ("patch_stride", !args.is_none("patch_stride")),
            ("patches", !args.is_none("patches")),
            ("patch_edge", edge != Edge::Drop),
            ("patch_fill", fill != 0.0),
            ("patch_seed", seed != 0),
        ];
        return match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(alone(args, name, "patch")),
            None => Ok(None),
        };
    }
    if fill != 0.0 && edge != Edge::Pad {
        return Err(args.error("patch_fill", "is for patch_edge=\"pad\""));
    }
    let whole = |sides: Vec<i64>| sides.into_iter().map(i64::unsigned_abs).collect::<Vec<u64>>();
    let is_list = args.value("patch").is_some_and(|sides| sides.is_array());
    let size = whole(args.ints("patch", 1)?);
    if !is_list || size.is_empty() || size.len() > 32 {
        return Err(args.error("patch", "must be a list of sides, one for each of the last axes"));
    }
    let drawn = match args.is_none("patches") {
        true => None,
        false => Some((number(args, "patches", 1)?, seed)),
    };
    if drawn.is_none() && seed != 0 {
        return Err(alone(args, "patch_seed", "patches"));
    }
    let stride = match args.is_none("patch_stride") {
        true => size.clone(),
        false if drawn.is_some() => {
            return Err(args.error("patch_stride", "is for grids, and patches= draws places at random"));
        }
        false => match whole(args.ints("patch_stride", 1)?) {
            one if one.len() == 1 => vec![one[0]; size.len()],
            each if each.len() == size.len() => each,
            _ => {
                let what =
                    format!("must be one number, or one for each of the {} axes of patch=", size.len());
                return Err(args.error("patch_stride", &what));
            }
        },
    };
    Ok(Some(Patches { size, stride, edge, fill, drawn }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn form(given: Value) -> Result<Option<Form>> {
        Form::read(&Args::new("zarr", &PARAMS, given.as_object().unwrap())?)
    }

    #[test]
    fn defaults_and_short_forms() {
        assert_eq!(form(json!({})).unwrap(), None);
        assert_eq!(form(json!({"stack": false})).unwrap(), None);
        let read = form(json!({"window": 4, "horizon": 2, "stack": true})).unwrap().unwrap();
        assert_eq!(read.windows, Some(Windows { length: 4, stride: 1, horizon: 2, gap: 0, across: false }));
        assert_eq!((read.stack.as_deref(), read.patches), (Some("data"), None));
        let patches = form(json!({"patch": [4, 8]})).unwrap().unwrap().patches.unwrap();
        assert_eq!((patches.stride, patches.edge, patches.drawn), (vec![4, 8], Edge::Drop, None));
        let patches = form(json!({"patch": [4, 8], "patch_stride": 2})).unwrap().unwrap().patches.unwrap();
        assert_eq!(patches.stride, [2, 2]);
    }

    #[test]
    fn what_does_not_go_together_is_named() {
        for (given, message) in [
            (json!({"stride": 2}), "zarr: stride belongs to window=, which is not given, got 2"),
            (json!({"horizon": 1}), "zarr: horizon belongs to window=, which is not given, got 1"),
            (json!({"across": true}), "zarr: across belongs to window=, which is not given"),
            (json!({"window": 0}), "zarr: window must be a whole number of at least 1, got 0"),
            (json!({"window": 2, "gap": 1}), "zarr: gap belongs to horizon=, which is not given, got 1"),
            (json!({"window": 2, "targets": ["x"]}), "zarr: targets needs horizon="),
            (json!({"patch_stride": 2}), "zarr: patch_stride belongs to patch="),
            (json!({"patches": 2}), "zarr: patches belongs to patch="),
            (json!({"patch": 3}), "zarr: patch must be a list of sides"),
            (json!({"patch": []}), "zarr: patch must be a list of sides"),
            (json!({"patch": [0]}), "zarr: patch must be a whole number of at least 1"),
            (json!({"patch": [3, 3], "patch_stride": [1, 1, 1]}), "one for each of the 2 axes of patch="),
            (json!({"patch": [3], "patch_stride": 1, "patches": 2}), "zarr: patch_stride is for grids"),
            (json!({"patch": [3], "patch_seed": 1}), "zarr: patch_seed belongs to patches="),
            (json!({"patch": [3], "patch_fill": 1}), "zarr: patch_fill is for patch_edge=\"pad\""),
            (json!({"patch": [3], "patch_edge": "wrap"}), "zarr: patch_edge must be \"drop\""),
            (json!({"stack": 3}), "zarr: stack must be the name of a field, or True, got 3"),
        ] {
            let text = form(given).unwrap_err().to_string();
            assert!(text.contains(message), "{text}");
        }
    }
}
