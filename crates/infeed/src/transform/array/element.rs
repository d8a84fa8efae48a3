//! Types of elements, and conversions between them.

use super::room;
use half::{bf16, f16};
use infeed_core::{Context, Dtype, Result, Tensor};

/// A number that every type can be converted from: i64, u64, f32 or f64, whichever holds all values of a type.
pub(in crate::transform) trait Wide: Copy {
    fn to<E: Element>(self) -> E;
}

/// A type of elements. `Raw` is its bytes.
pub(in crate::transform) trait Element: Copy + PartialOrd {
    type Raw: Copy;
    type Wide: Wide;
    fn all(bytes: &[u8]) -> &[Self::Raw];
    fn all_mut(bytes: &mut [u8]) -> &mut [Self::Raw];
    fn get(raw: Self::Raw) -> Self;
    fn raw(self) -> Self::Raw;
    fn wide(self) -> Self::Wide;
    fn of_i64(n: i64) -> Self;
    fn of_u64(n: u64) -> Self;
    fn of_f32(x: f32) -> Self;
    fn of_f64(x: f64) -> Self;
    /// Its value; integers above 2^53 are rounded.
    fn to_f64(self) -> f64 {
        self.wide().to::<f64>()
    }
}

macro_rules! wide {
    ($($t:ty => $of:ident),*) => {$(
        impl Wide for $t {
            fn to<E: Element>(self) -> E {
                E::$of(self)
            }
        }
    )*};
}
wide!(i64 => of_i64, u64 => of_u64, f32 => of_f32, f64 => of_f64);

/// The bytes of elements, for types of `$n` bytes.
macro_rules! bytes {
    ($n:expr) => {
        type Raw = [u8; $n];
        fn all(bytes: &[u8]) -> &[Self::Raw] {
            bytes.as_chunks().0
        }
        fn all_mut(bytes: &mut [u8]) -> &mut [Self::Raw] {
            bytes.as_chunks_mut().0
        }
    };
}

// `as` does what NumPy's astype does where that is defined: towards zero, and integers wrap around. Numbers outside of the
// range of an integer type become its nearest one, and NaN becomes 0.
macro_rules! number {
    ($($t:ty, $wide:ty);*) => {$(
        impl Element for $t {
            bytes!(size_of::<$t>());
            type Wide = $wide;
            fn get(raw: Self::Raw) -> Self {
                <$t>::from_ne_bytes(raw)
            }
            fn raw(self) -> Self::Raw {
                self.to_ne_bytes()
            }
            fn wide(self) -> $wide {
                <$wide>::from(self)
            }
            fn of_i64(n: i64) -> Self {
                n as $t
            }
            fn of_u64(n: u64) -> Self {
                n as $t
            }
            fn of_f32(x: f32) -> Self {
                x as $t
            }
            fn of_f64(x: f64) -> Self {
                x as $t
            }
        }
    )*};
}
number!(u8, i64; i8, i64; u16, i64; i16, i64; u32, i64; i32, i64; u64, u64; i64, i64; f32, f32; f64, f64);

macro_rules! small_float {
    ($($t:ty),*) => {$(
        impl Element for $t {
            bytes!(2);
            type Wide = f32;
            fn get(raw: Self::Raw) -> Self {
                <$t>::from_ne_bytes(raw)
            }
            fn raw(self) -> Self::Raw {
                self.to_ne_bytes()
            }
            fn wide(self) -> f32 {
                self.to_f32()
            }
            fn of_i64(n: i64) -> Self {
                <$t>::from_f64(n as f64)
            }
            fn of_u64(n: u64) -> Self {
                <$t>::from_f64(n as f64)
            }
            fn of_f32(x: f32) -> Self {
                <$t>::from_f32(x)
            }
            fn of_f64(x: f64) -> Self {
                <$t>::from_f64(x)
            }
        }
    )*};
}
small_float!(f16, bf16);

/// A bool: a byte that is 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub(in crate::transform) struct Truth(u8);

impl Element for Truth {
    bytes!(1);
    type Wide = i64;
    fn get(raw: Self::Raw) -> Self {
        Truth(u8::from(raw[0] != 0))
    }
    fn raw(self) -> Self::Raw {
        [self.0]
    }
    fn wide(self) -> i64 {
        i64::from(self.0)
    }
    fn of_i64(n: i64) -> Self {
        Truth(u8::from(n != 0))
    }
    fn of_u64(n: u64) -> Self {
        Truth(u8::from(n != 0))
    }
    fn of_f32(x: f32) -> Self {
        // NaN is true, as in NumPy.
        Truth(u8::from(x != 0.0))
    }
    fn of_f64(x: f64) -> Self {
        Truth(u8::from(x != 0.0))
    }
}

/// Runs code with `$T` as the type of elements.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use infeed_core::Dtype as D;
        use $crate::transform::array::element::Truth;
        match $dtype {
            D::Bool => {
                type $T = Truth;
                $body
            }
            D::U8 => {
                type $T = u8;
                $body
            }
            D::I8 => {
                type $T = i8;
                $body
            }
            D::U16 => {
                type $T = u16;
                $body
            }
            D::I16 => {
                type $T = i16;
                $body
            }
            D::U32 => {
                type $T = u32;
                $body
            }
            D::I32 => {
                type $T = i32;
                $body
            }
            D::U64 => {
                type $T = u64;
                $body
            }
            D::I64 => {
                type $T = i64;
                $body
            }
            D::F16 => {
                type $T = half::f16;
                $body
            }
            D::Bf16 => {
                type $T = half::bf16;
                $body
            }
            D::F32 => {
                type $T = f32;
                $body
            }
            D::F64 => {
                type $T = f64;
                $body
            }
        }
    }};
}
pub(in crate::transform) use with_element;

fn convert<A: Element, B: Element>(from: &[u8], to: &mut [u8]) {
    for (b, a) in B::all_mut(to).iter_mut().zip(A::all(from)) {
        *b = A::get(*a).wide().to::<B>().raw();
    }
}

/// Converts an array to another type.
pub(in crate::transform) fn cast(tensor: &mut Tensor, dtype: Dtype, context: &mut Context<'_>) -> Result<()> {
    if tensor.dtype == dtype {
        return Ok(());
    }
    let mut out = room(dtype, &tensor.shape, context)?;
    with_element!(tensor.dtype, A => with_element!(dtype, B => convert::<A, B>(&tensor.data, &mut out)));
    (tensor.dtype, tensor.data) = (dtype, out.into());
    Ok(())
}

/// A number as an element; `None` if the type cannot hold it. Floats take the nearest number that they have.
pub(in crate::transform) fn element<E: Element>(dtype: Dtype, value: f64) -> Option<E> {
    let out = E::of_f64(value);
    (dtype.is_float() || out.to_f64() == value).then_some(out)
}

/// A number as the bytes of an element; `None` if the type cannot hold it.
pub(in crate::transform) fn element_bytes(dtype: Dtype, value: f64) -> Option<Vec<u8>> {
    with_element!(dtype, E => element::<E>(dtype, value).map(|e| e.raw().to_vec()))
}
