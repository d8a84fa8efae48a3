//! Tells caches what the epochs to come need.
//!
//! Most orders have every row once in each epoch: then no byte is needed more than another, and there is nothing to count. For others
//! (weights, blends, parts of the data) the bytes that each part of each object gives to an epoch are counted, some thousand places
//! with every batch that is planned, and given to the caches when the epoch is complete. What is too large for that is not counted:
//! caches then go by age.

mod known;

use super::{Plan, reader::guarded};
use infeed_core::{Foresight, Hold, Order, Recurrence};
use known::{Answers, Known, Table};
use std::sync::{Arc, Mutex};

/// Places that are counted with each batch: about a millisecond of work.
const AT_ONCE: u64 = 8 << 10;
/// Epochs with more places are not counted.
const MOST: u64 = 1 << 28;

/// What caches are told, and how far it is counted.
#[derive(Debug)]
pub(super) struct Future {
    known: Arc<Known>,
    counting: Option<Mutex<Counting>>,
}

/// An epoch that is being counted.
#[derive(Debug)]
struct Counting {
    /// Whether other epochs have other rows.
    own: bool,
    epoch: Option<u64>,
    at: u64,
    table: Table,
}

impl Future {
    /// Tells the caches of a plan, if it has any.
    pub(super) fn new(plan: &Plan) -> Option<Future> {
        let caches = plan.source.caches();
        let chunk = caches.iter().map(|cache| cache.chunk()).min()?;
        let objects = plan.source.objects();
        let once = plan.order.recurrence() == Recurrence::Once && plan.order.places() == plan.source.rows();
        if objects.is_empty() || !once && plan.order.places() > MOST {
            return None;
        }
        let counting = (!once).then(|| {
            let own = plan.order.recurrence() == Recurrence::Own;
            Mutex::new(Counting { own, epoch: None, at: 0, table: Table::new(&objects, chunk) })
        });
        let answers = if once { Answers::Once } else { Answers::Unknown };
        let known = Arc::new(Known::new(&objects, answers));
        for cache in caches {
            cache.set_future(Arc::clone(&known) as Arc<dyn Foresight>);
        }
        Some(Future { known, counting })
    }

    /// Counts some more places of the epoch behind this one.
    pub(super) fn count_on(&self, plan: &Plan, epoch: u64) {
        let Some(counting) = &self.counting else { return };
        let mut counting = counting.hold();
        let wanted = if counting.own { epoch + 1 } else { 0 };
        if counting.epoch != Some(wanted) {
            counting.table.clear();
            (counting.epoch, counting.at) = (Some(wanted), 0);
        }
        let places = plan.order.places();
        if counting.at == places {
            return;
        }
        let end = places.min(counting.at + AT_ONCE);
        let mut rows: Vec<u64> = (counting.at..end).collect();
        plan.order.resolve(wanted, &mut rows);
        rows.sort_unstable();
        let table = &mut counting.table;
        // What goes wrong here goes wrong again, and is reported, when the rows are read.
        let _ = guarded(|| {
            plan.source.bytes_of(&rows, &plan.fields, &mut |object, bytes| table.add(object, &bytes));
            Ok(())
        });
        counting.at = end;
        if end == places {
            self.known.tell(counting.table.clone());
        }
    }
}

#[cfg(test)]
mod tests;
