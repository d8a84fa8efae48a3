//! A usual training pipeline for image models, for data without a recipe.

use infeed::{
    Recipe,
    recipe::{Stage, Use},
};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// Mean and standard deviation of ImageNet's channels, which most training scripts use.
const MEAN: [f64; 3] = [0.485, 0.456, 0.406];
const STD: [f64; 3] = [0.229, 0.224, 0.225];

/// The known fields of the data.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    /// The field with the image.
    pub(crate) image: Option<String>,
    /// The field with the class, and whether it must be decoded into a number.
    pub(crate) label: Option<(String, bool)>,
}

/// A recipe that shuffles, crops, flips and normalises images, and makes batches.
pub(crate) fn train(paths: Vec<String>, format: &str, fields: &Fields, size: u32, batch: usize) -> Recipe {
    let mut recipe = Recipe::new(paths, format);
    let stages = &mut recipe.stages;
    stages.push(Stage::shuffle(0));
    if let Some(image) = &fields.image {
        let plain = |name: &str| Use { name: name.to_owned(), args: Map::new() };
        let mut keep = vec![image.clone()];
        let mut decode = BTreeMap::from([(image.clone(), plain("rgb"))]);
        if let Some((label, encoded)) = &fields.label {
            keep.push(label.clone());
            if *encoded {
                decode.insert(label.clone(), plain("int"));
            }
        }
        stages.push(Stage::Select { fields: keep });
        stages.push(Stage::Decode { fields: decode, optional: false });
        stages.push(map("RandomResizedCrop", image, json!({"size": size})));
        stages.push(map("RandomHorizontalFlip", image, json!({})));
        stages.push(map("Normalize", image, json!({"mean": MEAN, "std": STD})));
    }
    stages.push(Stage::batch(batch));
    recipe
}

fn map(name: &str, on: &str, args: Json) -> Stage {
    let args = if let Json::Object(args) = args { args } else { Map::new() };
    Stage::Map { name: name.to_owned(), on: vec![on.to_owned()], args }
}
