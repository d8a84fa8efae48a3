//! `ToDtype`: converts to another dtype.

use super::{
    array::{element::cast, is_array},
    common::need_image,
};
use infeed_core::{
    Args, Context, Dtype, Entry, Error, FieldKind, FieldSpec, Param, Result, Transform, Value,
};

/// The registry entry.
pub(super) const ENTRY: Entry<dyn Transform> = Entry {
    name: "ToDtype",
    about: "another element type: u8, f32, f16 or bf16; for masks also the integer types; for arrays any, as NumPy's astype, with \
            numbers that an integer type cannot hold becoming its nearest one and NaN 0",
    params: &[
        Param {
            name: "dtype",
            python: "object",
            default: None,
            about: "\"f32\", \"f16\", \"bf16\", \"u8\", ..., or a NumPy or torch dtype",
        },
        Param {
            name: "scale",
            python: "bool",
            default: Some("false"),
            about: "map 0..255 to 0..1 when going from u8 to float; for arrays there is Scale",
        },
    ],
    build,
};

#[derive(Debug)]
struct ToDtype {
    dtype: Dtype,
    scale: bool,
}

fn build(args: &Args) -> Result<Box<dyn Transform>> {
    let dtype = args.dtype("dtype")?;
    Ok(Box::new(ToDtype { dtype, scale: args.flag("scale")? }))
}

impl Transform for ToDtype {
    fn is_random(&self) -> bool {
        false
    }

    fn spec(&self, input: &FieldSpec) -> Result<FieldSpec> {
        let (images, masks) = (
            [Dtype::U8, Dtype::F32, Dtype::F16, Dtype::Bf16].as_slice(),
            [Dtype::U8, Dtype::U16, Dtype::I16, Dtype::I32, Dtype::I64, Dtype::F32].as_slice(),
        );
        let refuse = |what: &str| Error::plan("ToDtype", format!("dtype must be {what}, got {}", self.dtype));
        if input.kind == FieldKind::Mask {
            if self.scale || !masks.contains(&self.dtype) {
                return Err(refuse(
                    "u8, u16, i16, i32, i64 or f32 for masks, whose classes are never scaled",
                ));
            }
            return Ok(FieldSpec { dtype: self.dtype, ..input.clone() });
        }
        if is_array(input) {
            if self.scale {
                return Err(Error::plan(
                    "ToDtype",
                    "scale is for images; Scale multiplies the values of arrays",
                ));
            }
            return Ok(FieldSpec { dtype: self.dtype, ..input.clone() });
        }
        need_image("ToDtype", input)?;
        if !images.contains(&self.dtype) {
            return Err(refuse("u8, f32, f16 or bf16 for images"));
        }
        if self.dtype == Dtype::U8 && input.dtype != Dtype::U8 {
            return Err(Error::plan(
                "ToDtype",
                format!("cannot go back from {} to u8; leave the first conversion out", input.dtype),
            ));
        }
        let mut out = input.clone();
        out.dtype = self.dtype;
        Ok(out)
    }

    fn apply(&self, value: &mut Value, context: &mut Context<'_>) -> Result<()> {
        if let Value::Tensor(tensor) = value {
            return cast(tensor, self.dtype, context);
        }
        let finish = &mut value.image_mut()?.finish;
        if self.scale && finish.dtype == Dtype::U8 && self.dtype != Dtype::U8 {
            finish.scale = [1.0 / 255.0; 4];
        }
        finish.dtype = self.dtype;
        Ok(())
    }
}
