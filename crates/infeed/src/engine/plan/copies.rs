//! `copy`: several copies of one field, each with its own transforms from there on.

use super::{
    branch::{Branch, Chain, Fork, Start},
    filter::FilterInput,
};
use infeed_core::{Error, Result};
use std::{collections::BTreeMap, sync::Arc};

/// The name of the stage as users know it.
const STAGE: &str = "views";

impl Branch {
    /// Makes copies of a field. The field itself leaves the sample, unless a copy asked to keep it.
    pub(super) fn copy(&mut self, field: &str, to: &[String], keep: bool) -> Result<()> {
        if to.is_empty() {
            return Err(Error::plan(STAGE, format!("needs at least one name for the views of `{field}`")));
        }
        // Fields that were copied before can be copied again.
        let again = self.spent.iter().position(|c| *c.name == *field);
        self.bind_targets();
        self.copy_target(field, to);
        let mut chain = match again {
            Some(at) => self.spent.remove(at),
            None => {
                let at = self.require(field, STAGE)?;
                self.chains[at].clone()
            }
        };
        chain.keep |= keep;
        let spec = chain.spec();
        for name in to {
            let taken = self.spec.position(name).is_some()
                || *chain.name == **name
                || self.spent.iter().any(|c| *c.name == **name);
            if name.is_empty() || taken {
                return Err(Error::plan(
                    STAGE,
                    format!(
                        "a view of `{field}` cannot be called `{name}`: there is such a field; choose another to="
                    ),
                ));
            }
            let name: Arc<str> = name.as_str().into();
            let start = Start::Copy { of: Arc::clone(&chain.name), at: 0, after: chain.transforms.len() };
            let mut copy = Chain::new(&name, start, format!("view of {field}"), &spec);
            copy.pads_with = chain.pads_with;
            copy.optional = chain.optional;
            self.chains.push(copy);
            self.spec.fields.push((name, spec.clone()));
        }
        match (again, chain.keep) {
            (Some(_), true) => {
                self.spec.fields.push((Arc::clone(&chain.name), spec));
                self.chains.push(chain);
            }
            (Some(_), false) => self.spent.push(chain),
            (None, keep) => {
                let at = self.require(field, STAGE)?;
                if keep {
                    self.chains[at] = chain;
                } else {
                    self.chains.remove(at);
                    self.spec.fields.remove(at);
                    self.spent.push(chain);
                }
            }
        }
        Ok(())
    }

    /// Moves the chains that others need behind those of the sample's fields.
    pub(super) fn gathered(mut self) -> Self {
        let mut at = 0;
        let facts = self.filters.iter().flat_map(|f| f.fields());
        let mut wanted: Vec<Arc<str>> = facts.map(Arc::from).collect();
        loop {
            while let Some(chain) = self.chains.get(at) {
                if let Start::Copy { of, .. } = &chain.start {
                    wanted.push(Arc::clone(of));
                }
                wanted.extend(self.joined_with(chain));
                at += 1;
            }
            let Some(name) = wanted.pop() else { break };
            if let Some(found) = self.spent.iter().position(|c| c.name == name) {
                self.chains.push(self.spent.remove(found));
            }
        }
        self
    }

    /// Returns the stored fields that its chains begin with.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Arc<str>> {
        self.chains.iter().filter_map(|c| match &c.start {
            Start::Stored { name, .. } => Some(name),
            Start::Copy { .. } => None,
        })
    }

    /// Resolves all indices: no later stage moves a chain. `fields` are those that are read.
    pub(super) fn settled(mut self, fields: &[Arc<str>]) -> Result<Self> {
        let names: Vec<Arc<str>> = self.chains.iter().map(|c| Arc::clone(&c.name)).collect();
        let place = |name: &str, among: &[Arc<str>]| {
            among
                .iter()
                .position(|n| **n == *name)
                .ok_or_else(|| Error::Internal { what: format!("the field `{name}` is lost") })
        };
        let mut forks: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (number, chain) in self.chains.iter_mut().enumerate() {
            match &mut chain.start {
                Start::Stored { name, at } => *at = place(name, fields)?,
                Start::Copy { of, at, after } => {
                    *at = place(of, &names)?;
                    forks.entry((*at, *after)).or_default().push(number);
                }
            }
        }
        self.settle_joints()?;
        let visible = self.spec.fields.len();
        for ((at, after), to) in forks {
            self.chains[at].forks.push(Fork { after, to });
        }
        for at in 0..self.chains.len() {
            let chain = &self.chains[at];
            let copies = chain.forks.iter().flat_map(|f| &f.to).map(|copy| &self.chains[*copy]);
            let ways = copies.filter(|copy| copy.uses_pixels(0) || !copy.forks.is_empty()).count();
            let own = at < visible && chain.uses_pixels(chain.forks.last().map_or(0, |f| f.after));
            self.chains[at].shared = ways + usize::from(own) > 1;
        }
        for fact in self.filters.iter_mut().flat_map(|f| &mut f.facts) {
            if let FilterInput::Field { name, column, .. } = fact {
                *column = place(name, &names)?;
            }
        }
        Ok(self)
    }
}
