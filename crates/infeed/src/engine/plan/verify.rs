//! Checks ledgers against the plan's order.

use super::Plan;
use crate::order::ledger::{Ledger, Promise, Verdict, verify};
use infeed_core::{Error, Result};
use std::collections::BTreeSet;

impl Plan {
    /// Whether the ledgers of all ranks and restarts prove an epoch; without `epoch`, every epoch they cover.
    pub fn verify(&self, ledgers: &[Ledger], epoch: Option<u64>) -> Result<Vec<Verdict>> {
        if self.is_stream() {
            return Err(Error::argument("rows of a stream cannot be looked up to be verified"));
        }
        let here = self.identity().ledger();
        for (number, ledger) in ledgers.iter().enumerate() {
            if let Some(what) = here.differs(ledger.recipe()) {
                let name = if ledger.name().is_empty() {
                    format!("ledger {number}")
                } else {
                    ledger.name().to_owned()
                };
                return Err(Error::argument(format!("{name} does not belong to this pipeline: {what}")));
            }
        }
        let known: BTreeSet<u64> = ledgers.iter().flat_map(Ledger::epochs).collect();
        let epochs = epoch.map_or(known, |epoch| [epoch].into());
        if epochs.is_empty() {
            return Err(Error::argument("the ledgers are empty: nothing was handed out"));
        }
        epochs.into_iter().map(|epoch| verify(ledgers, epoch, &*self.order, Promise::Whole)).collect()
    }
}
