//! Images, annotations and categories as they stand in the JSON.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

#[derive(Deserialize)]
pub(super) struct RawImage<'a> {
    #[serde(default)]
    pub(super) id: Option<Whole>,
    #[serde(default, borrow)]
    pub(super) file_name: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) width: Option<Whole>,
    #[serde(default)]
    pub(super) height: Option<Whole>,
}

#[derive(Deserialize)]
pub(super) struct RawNote<'a> {
    #[serde(default)]
    pub(super) id: Option<Whole>,
    #[serde(default)]
    pub(super) image_id: Option<Whole>,
    #[serde(default)]
    pub(super) category_id: Option<Whole>,
    #[serde(default)]
    pub(super) bbox: Option<Vec<f64>>,
    #[serde(default)]
    pub(super) area: Option<f64>,
    #[serde(default)]
    pub(super) iscrowd: Option<Whole>,
    #[serde(default, borrow)]
    pub(super) segmentation: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) keypoints: Option<Vec<f64>>,
    #[serde(default, borrow)]
    pub(super) caption: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct RawCategory {
    #[serde(default)]
    pub(super) id: Option<Whole>,
    #[serde(default)]
    pub(super) name: Option<String>,
}

/// A whole number. Tools that go through tables of floats write `5.0`, and some write flags as booleans.
#[derive(Clone, Copy)]
pub(super) struct Whole(pub(super) i64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
                let whole = i64::try_from(value).map(Whole);
                whole.map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
                // Floats hold every whole number up to 2^53.
                if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
                    return Ok(Whole(value as i64));
                }
                Err(E::invalid_value(Unexpected::Float(value), &self))
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Whole, E> {
                Ok(Whole(i64::from(value)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
