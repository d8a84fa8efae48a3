//! `OneHot`: classes as ones among zeros.

use super::array::{
    element::{Element, Wide as _, with_element},
    need_array, one_axis, place, room, tensor,
};
use infeed_core::{Args, Context, Dim, Dtype, Entry, Error, FieldSpec, Param, Result, Transform, Value};

/// More classes than labels have. A larger number is a slip.
const MOST: i64 = 1 << 20;

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "OneHot",
    about: "a new axis with a one at the class and zeros elsewhere, for arrays of integers",
    params: &[
        Param {
            name: "classes",
            python: "int",
            default: None,
            about: "how many classes there are: 0 to classes - 1",
        },
        Param {
            name: "axis",
            python: "int",
            default: Some("0"),
            about: "where the new axis is: 0 before all others, -1 behind them",
        },
        Param { name: "dtype", python: "object", default: Some("\"f32\""), about: "the type of the result" },
        Param {
            name: "ignore",
            python: "int | None",
            default: Some("null"),
            about: "a label that is no class and has zeros only, such as 255; others are refused",
        },
    ],
    build,
};

#[derive(Debug)]
struct OneHot {
    classes: usize,
    axis: i64,
    dtype: Dtype,
    ignore: Option<i64>,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let classes = args.int("classes", 1)?;
    if classes > MOST {
        return Err(args.error("classes", &format!("must be at most {MOST}")));
    }
    let ignore = if args.is_none("ignore") { None } else { Some(args.int("ignore", i64::MIN)?) };
    let axis = one_axis(args, "axis")?.unwrap_or(0);
    Ok(Box::new(OneHot { classes: classes as usize, axis, dtype: args.dtype("dtype")?, ignore }))
}

/// Puts ones where they belong, or returns the first element that is no class.
fn mark<L: Element, E: Element>(
    labels: &[u8],
    out: &mut [u8],
    (classes, inner): (usize, usize),
    ignore: Option<i64>,
) -> Option<(usize, i64)> {
    let (one, out) = (E::of_i64(1).raw(), E::all_mut(out));
    for (at, raw) in L::all(labels).iter().enumerate() {
        // Labels beyond 2^63 become negative, and are refused as such.
        let label = L::get(*raw).wide().to::<i64>();
        match usize::try_from(label) {
            Ok(class) if class < classes => out[(at / inner * classes + class) * inner + at % inner] = one,
            _ if ignore == Some(label) => {}
            _ => return Some((at, label)),
        }
    }
    None
}

impl OneHot {
    fn place(&self, rank: usize) -> Result<usize> {
        super::array::axis("OneHot", "axis", self.axis, rank + 1)
    }
}

impl Transform for OneHot {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        need_array("OneHot", input)?;
        if input.dtype.is_float() {
            return Err(Error::plan(
                "OneHot",
                format!(
                    "needs classes as integers, but the field is {input}: put ToDtype(\"i64\") before it"
                ),
            ));
        }
        let mut shape = input.shape.clone();
        shape.insert(self.place(shape.len())?, Dim::Fixed(self.classes));
        Ok(FieldSpec::array(self.dtype, shape))
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        let tensor = tensor(value)?;
        let at = self.place(tensor.shape.len())?;
        let inner = tensor.shape[at..].iter().product::<usize>().max(1);
        let mut shape = tensor.shape.clone();
        shape.insert(at, self.classes);
        let mut out = room(self.dtype, &shape, context)?;
        let how = (self.classes, inner);
        let wrong = with_element!(tensor.dtype, L => with_element!(self.dtype, E => {
            mark::<L, E>(&tensor.data, &mut out, how, self.ignore)
        }));
        if let Some((at, label)) = wrong {
            return Err(Error::sample(format!(
                "OneHot has classes 0 to {}, but the label at {:?} is {label}; ignore={label} gives such labels zeros",
                self.classes - 1,
                place(at, &tensor.shape)
            )));
        }
        (tensor.dtype, tensor.shape, tensor.data) = (self.dtype, shape, out.into());
        Ok(())
    }
}
