//! Which images are left to a device, instead of being decoded by this loader's threads.

use super::Plan;
use crate::batch::ColumnLayout;
use infeed_core::{Error, FieldKind, Result, Rng};
use serde::Serialize;
use std::sync::Arc;

/// The address of the random numbers that choose between threads and device.
const CHOICE: u64 = 0x0000_6465_6665_7273;

/// Where the images of a loader are decoded. No part of a recipe: the same data comes out, within what decoders differ by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub enum Decode {
    /// By the threads of the loader.
    #[default]
    Cpu,
    /// By a device, what its decoders take; by the threads, the rest.
    Device,
    /// The same, but this share of the rows is left to the threads; `None` follows their number.
    Both(Option<f64>),
}

/// What one thread decodes in a second, and what the engines of a GPU do, of photographs: a share that is not given follows
/// from these. Measured on an H200, docs/gpu.md.
const THREAD: f64 = 900.0;
const ENGINES: f64 = 20_000.0;

impl Decode {
    /// Finds it by its name; `share` is that of the threads in `"hybrid"`.
    pub fn parse(name: &str, share: Option<f64>) -> Result<Self> {
        match (name, share) {
            ("cpu", None) => Ok(Decode::Cpu),
            ("gpu", None) => Ok(Decode::Device),
            ("hybrid", share) => Ok(Decode::Both(share)),
            ("cpu" | "gpu", Some(_)) => {
                Err(Error::argument("share= is what the threads decode beside a device: decode=\"hybrid\""))
            }
            _ => Err(Error::argument(format!("decode must be \"cpu\", \"gpu\" or \"hybrid\", got {name:?}"))),
        }
    }

    /// With a share that follows the number of threads, where none was given.
    pub(super) fn settled(self, threads: usize) -> Self {
        let usual = threads as f64 * THREAD / (threads as f64 * THREAD + ENGINES);
        match self {
            Decode::Both(None) => Decode::Both(Some((usual * 100.0).round() / 100.0)),
            other => other,
        }
    }

    /// Refuses a share that is none.
    pub(super) fn check(self) -> Result<()> {
        match self {
            Decode::Both(Some(share)) if !(0.0..=1.0).contains(&share) => {
                Err(Error::argument(format!("share must be 0 to 1, got {share}")))
            }
            _ => Ok(()),
        }
    }

    /// Whether the images of a row are left to a device: a function of these numbers, so that a run with the same share gives
    /// the same bytes.
    pub(super) fn defers(self, seed: u64, epoch: u64, row: u64) -> bool {
        match self {
            Decode::Cpu => false,
            Decode::Device => true,
            Decode::Both(share) => !Rng::at(seed, epoch, row, CHOICE).chance(share.unwrap_or(0.0)),
        }
    }
}

impl Plan {
    /// The layouts of the columns of a batch. Images of one shape are left to a device, unless something of this process uses
    /// their pixels.
    pub(super) fn layouts_for(&self, decode: Decode) -> Arc<[ColumnLayout]> {
        let free = decode != Decode::Cpu && self.python.is_empty();
        let layout = |(at, layout): (usize, &ColumnLayout)| match layout {
            ColumnLayout::Stack { dtype, shape, bytes } if free && self.can_defer(at) => {
                ColumnLayout::Deferred { dtype: *dtype, shape: shape.clone(), bytes: *bytes }
            }
            layout => layout.clone(),
        };
        self.layouts.iter().enumerate().map(layout).collect()
    }

    fn can_defer(&self, at: usize) -> bool {
        let is_image = matches!(self.spec.fields[at].1.kind, FieldKind::Image(_));
        is_image && self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_the_threads() {
        for share in [0.0, 0.25, 1.0] {
            let rows = (0..10_000).filter(|row| !Decode::Both(Some(share)).defers(7, 1, *row)).count();
            assert!((rows as f64 / 10_000.0 - share).abs() < 0.02, "{rows} of 10000 at {share}");
        }
    }

    #[test]
    fn the_choice_is_by_address() {
        let of = |seed, epoch| -> Vec<bool> {
            (0..64).map(|row| Decode::Both(Some(0.5)).defers(seed, epoch, row)).collect()
        };
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert_ne!(of(1, 0), of(2, 0));
    }

    #[test]
    fn without_a_share_it_follows_the_threads() {
        let share = |threads| match Decode::Both(None).settled(threads) {
            Decode::Both(Some(share)) => share,
            other => panic!("{other:?}"),
        };
        assert!(share(1) < share(4) && share(4) < share(16) && share(16) < 0.5);
        assert_eq!(Decode::Both(Some(0.9)).settled(4), Decode::Both(Some(0.9)));
        assert_eq!(Decode::Device.settled(4), Decode::Device);
    }

    #[test]
    fn names_are_known() {
        assert_eq!(Decode::parse("gpu", None).unwrap(), Decode::Device);
        assert_eq!(Decode::parse("hybrid", Some(0.25)).unwrap(), Decode::Both(Some(0.25)));
        assert!(Decode::parse("cpu", Some(0.25)).is_err() && Decode::parse("tpu", None).is_err());
    }

    #[test]
    fn shares_are_checked() {
        for share in [-0.1, 1.1, f64::NAN] {
            assert!(Decode::Both(Some(share)).check().is_err());
        }
        assert!(Decode::Both(Some(0.3)).check().is_ok());
    }
}
