//! Checks that ids fit together, and sorts annotations by image.

use super::{Coco, wrong};
use infeed_core::Result;
use std::collections::{HashMap, HashSet};

/// Sorts the categories and checks those of the annotations.
pub(super) fn categories(name: &str, coco: &mut Coco) -> Result<()> {
    let Some(categories) = &mut coco.categories else { return Ok(()) };
    categories.sort_by_key(|category| category.id);
    if let Some(pair) = categories.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let what =
            format!("two categories have the id {}: `{}` and `{}`", pair[0].id, pair[0].name, pair[1].name);
        return Err(wrong(name, what));
    }
    let known: HashSet<i64> = categories.iter().map(|category| category.id).collect();
    let notes = &coco.notes;
    let unknown = notes.categories.iter().position(|id| *id != super::NO_CATEGORY && !known.contains(id));
    match unknown {
        None => Ok(()),
        Some(at) => Err(wrong(
            name,
            format!(
                "annotations[{at}] (id {}, image {}) has the category {}, which `categories` does not list",
                notes.ids[at], notes.images[at], notes.categories[at]
            ),
        )),
    }
}

/// Finds the annotations of each image.
pub(super) fn group(name: &str, coco: &mut Coco, crowd: bool) -> Result<()> {
    let mut images = HashMap::with_capacity(coco.image_ids.len());
    for (at, id) in coco.image_ids.iter().enumerate() {
        if let Some(first) = images.insert(*id, at) {
            return Err(wrong(name, format!("images[{first}] and images[{at}] have the same id {id}")));
        }
    }
    let notes = &coco.notes;
    let mut seen = HashMap::with_capacity(notes.ids.len());
    for (at, id) in notes.ids.iter().enumerate() {
        if let Some(first) = seen.insert(*id, at) {
            return Err(wrong(
                name,
                format!("annotations[{first}] and annotations[{at}] have the same id {id}"),
            ));
        }
    }
    drop(seen);
    let kept = |at: usize| crowd || !notes.crowd[at];
    // A counting sort: first how many each image has, then the place of each.
    let mut starts = vec![0_u32; coco.image_ids.len() + 1];
    for (at, id) in notes.images.iter().enumerate() {
        match images.get(id) {
            None => coco.strays.push(notes.ids[at]),
            Some(image) if kept(at) => starts[image + 1] += 1,
            Some(_) => {}
        }
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut order = vec![0; starts.last().copied().unwrap_or(0) as usize];
    for (at, id) in notes.images.iter().enumerate() {
        if let Some(image) = images.get(id).filter(|_| kept(at)) {
            order[next[*image] as usize] = at as u32;
            next[*image] += 1;
        }
    }
    (coco.starts, coco.order) = (starts, order);
    Ok(())
}
