//! Generates random trees of orders, each with a simple model that lists its rows.

use super::{blend::plain_epoch, interleave, *};
use crate::{Below, Global, Sequential};
use infeed_core::{Order, OrderExt};
use proptest::{option, prelude::*};
use std::{collections::HashMap, sync::Arc};

/// The rows of an epoch, enumerated without arithmetic.
pub(super) type Model = Arc<dyn Fn(u64) -> Vec<u64> + Send + Sync>;

/// Describes how to build an order. Parameters are reduced to valid ranges when it is built, so
/// every tree can be built.
#[derive(Debug, Clone)]
pub(super) enum Tree {
    Rows(u64, Vec<u64>),
    Shuffle(Box<Tree>, u64),
    Concat(Vec<Tree>),
    Slice(Box<Tree>, Option<i64>, Option<i64>, Option<i64>),
    Pick(Box<Tree>, Vec<u64>, bool),
    Split(Box<Tree>, f64, usize, u64),
    Fold(Box<Tree>, u64, u64, bool, Option<u64>),
    Repeat(Box<Tree>, u64),
    Interleave(Vec<Tree>, u64, Stop),
    Blend(Vec<(u8, Tree)>, BlendLength),
}

/// Generates any order, up to four levels above the rows.
pub(super) fn arbitrary_order() -> impl Strategy<Value = Tree> {
    let rows =
        (0u64..1000, prop::collection::vec(0u64..12, 1..4)).prop_map(|(first, b)| Tree::Rows(first, b));
    rows.prop_recursive(4, 24, 3, |tree| {
        let boxed = tree.clone().prop_map(Box::new);
        let trees = prop::collection::vec(tree.clone(), 1..4);
        let stop = prop_oneof![Just(Stop::First), Just(Stop::All)];
        let length = prop_oneof![
            Just(BlendLength::First),
            Just(BlendLength::All),
            (0u64..200).prop_map(BlendLength::Exactly)
        ];
        let bound = || option::of(-40i64..40);
        let list = prop::collection::vec(any::<u64>(), 0..60);
        let split = (boxed.clone(), 0.05f64..0.95, 0usize..2, 0u64..9);
        let fold = (boxed.clone(), 2u64..6, 0u64..6, any::<bool>(), option::of(0u64..9));
        prop_oneof![
            (boxed.clone(), 0u64..9).prop_map(|(t, seed)| Tree::Shuffle(t, seed)),
            trees.clone().prop_map(Tree::Concat),
            (boxed.clone(), bound(), bound(), option::of(-4i64..5))
                .prop_map(|(t, a, b, s)| Tree::Slice(t, a, b, s)),
            (boxed.clone(), list, any::<bool>()).prop_map(|(t, list, sort)| Tree::Pick(t, list, sort)),
            split.prop_map(|(t, share, index, seed)| Tree::Split(t, share, index, seed)),
            fold.prop_map(|(t, folds, fold, out, seed)| Tree::Fold(t, folds, fold, out, seed)),
            (boxed, 1u64..4).prop_map(|(t, times)| Tree::Repeat(t, times)),
            (trees, 1u64..6, stop).prop_map(|(t, run, stop)| Tree::Interleave(t, run, stop)),
            (prop::collection::vec((0u8..4, tree), 1..4), length).prop_map(|(t, l)| Tree::Blend(t, l)),
        ]
    })
}

impl Tree {
    /// Builds the order and its model.
    pub(super) fn build(&self) -> (Below, Model) {
        let (order, model) = self.built();
        // Cut off: a few levels of repetition would make epochs too long to enumerate.
        if order.places() < 2000 {
            return (order, model);
        }
        let short = move |epoch| model(epoch)[..500].to_vec();
        (Arc::new(Slice::take(order, 500)), Arc::new(short))
    }

    fn built(&self) -> (Below, Model) {
        match self {
            Tree::Rows(first, blocks) => {
                let (first, end) = (*first, first + blocks.iter().sum::<u64>());
                (Arc::new(Sequential::new(first, &blocks[..])), Arc::new(move |_| (first..end).collect()))
            }
            Tree::Shuffle(tree, seed) => {
                let (below, model) = tree.build();
                let plain = Global::new(Arc::new(Sequential::of(below.places())), *seed);
                let model = mapped(model, plain, |epoch| epoch);
                (Arc::new(Global::new(below, *seed)), model)
            }
            Tree::Concat(trees) => {
                let (parts, models) = built_all(trees);
                let model = move |epoch| models.iter().flat_map(|model| model(epoch)).collect();
                (Arc::new(Concat::new(parts).unwrap()), Arc::new(model))
            }
            Tree::Slice(tree, start, stop, step) => {
                let (below, model) = tree.build();
                let step = step.filter(|step| *step != 0);
                let rows: Below = Arc::new(Sequential::of(below.places()));
                let plain = Slice::python(rows, *start, *stop, step).unwrap();
                let model = mapped(model, plain, |epoch| epoch);
                (Arc::new(Slice::python(below, *start, *stop, step).unwrap()), model)
            }
            Tree::Pick(tree, list, sort) => {
                let (below, model) = tree.build();
                let Some(last) = below.places().checked_sub(1) else {
                    return (below, model);
                };
                let mut list: Vec<u64> = list.iter().map(|index| index % (last + 1)).collect();
                if *sort {
                    list.sort_unstable();
                }
                let order = Pick::new(below, list.clone()).unwrap();
                let model = move |epoch| {
                    let rows = model(epoch);
                    list.iter().map(|index| rows[*index as usize]).collect()
                };
                (Arc::new(order), Arc::new(model))
            }
            Tree::Split(tree, share, index, seed) => {
                let (below, model) = tree.build();
                let lengths = Lengths::Fractions(vec![*share, 1.0 - share]);
                let rows: Below = Arc::new(Sequential::of(below.places()));
                match Split::new(rows, &lengths, *index, *seed) {
                    Ok(plain) => {
                        let order = Split::new(below, &lengths, *index, *seed).unwrap();
                        (Arc::new(order), mapped(model, plain, |_| 0))
                    }
                    Err(_) => (below, model),
                }
            }
            Tree::Fold(tree, folds, fold, held_out, seed) => {
                let (below, model) = tree.build();
                if below.places() < 2 {
                    return (below, model);
                }
                let folds = (*folds).min(below.places());
                let fold = |below| Fold::new(below, folds, fold % folds, *held_out, *seed).unwrap();
                let plain = fold(Arc::new(Sequential::of(below.places())));
                (Arc::new(fold(below)), mapped(model, plain, |_| 0))
            }
            Tree::Repeat(tree, times) => {
                let (below, model) = tree.build();
                let times = *times;
                let epochs =
                    move |epoch: u64| (epoch * times..(epoch + 1) * times).flat_map(|e| model(e)).collect();
                (Arc::new(Repeat::new(below, times).unwrap()), Arc::new(epochs))
            }
            Tree::Interleave(trees, run, stop) => {
                let (parts, models) = built_all(trees);
                let (run, stop) = (*run, *stop);
                let rows = move |epoch| models.iter().map(|model| model(epoch)).collect::<Vec<_>>();
                let model = move |epoch| interleave::plain(&rows(epoch), run, stop);
                (Arc::new(Interleave::new(parts, run, stop).unwrap()), Arc::new(model))
            }
            Tree::Blend(trees, length) => blend(trees, *length),
        }
    }
}

fn built_all(trees: &[Tree]) -> (Vec<Below>, Vec<Model>) {
    trees.iter().map(Tree::build).unzip()
}

/// Applies `plain`, an order over the numbers from 0, to the rows of the model.
fn mapped(model: Model, plain: impl Order + 'static, below: fn(u64) -> u64) -> Model {
    Arc::new(move |epoch| {
        let rows = model(below(epoch));
        plain.rows(epoch, 0..plain.places()).into_iter().map(|index| rows[index as usize]).collect()
    })
}

fn blend(trees: &[(u8, Tree)], length: BlendLength) -> (Below, Model) {
    let mut drawn: Vec<(f64, Below, Model)> = vec![];
    for (weight, tree) in trees {
        let (order, model) = tree.build();
        drawn.push((f64::from(*weight) * f64::from(u8::from(order.places() > 0)), order, model));
    }
    if drawn.iter().all(|part| part.0 == 0.0) {
        let (_, order, model) = drawn.remove(0);
        return (order, model);
    }
    let weights: Vec<f64> = drawn.iter().map(|part| part.0).collect();
    let parts = drawn.iter().map(|part| part.1.clone()).collect();
    let order = Blend::new(parts, &weights, length).unwrap();
    drawn.retain(|part| part.0 > 0.0);
    let weights: Vec<f64> = drawn.iter().map(|part| part.0).collect();
    let lengths: Vec<u64> = drawn.iter().map(|part| part.1.places()).collect();
    let models: Vec<Model> = drawn.into_iter().map(|part| part.2).collect();
    let chosen = plain_epoch(&normalized(&weights).unwrap(), &lengths, length);
    let model = move |epoch: u64| {
        let mut epochs: HashMap<(usize, u64), Vec<u64>> = HashMap::new();
        let mut asked = vec![0; models.len()];
        chosen.iter().for_each(|(part, _)| asked[*part] += 1);
        let row = |&(part, k): &(usize, u64)| {
            let at = epoch * asked[part] + k;
            let inner = at / lengths[part];
            let rows = epochs.entry((part, inner)).or_insert_with(|| models[part](inner));
            rows[(at % lengths[part]) as usize]
        };
        chosen.iter().map(row).collect()
    };
    (Arc::new(order), Arc::new(model))
}
