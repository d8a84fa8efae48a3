//! Packs documents of any length into sequences of one length.
//!
//! The number of sequences is known only once a corpus is tokenised, so packed sequences are a stream. The documents
//! come from a plan of their own, with its own threads and order; packing is the little work that remains.
//! Checkpoints hold where in the documents a sequence begins, so a resumed run does not tokenise again what came
//! before.

mod fields;
mod fit;
mod flow;
mod marks;
mod sequence;
mod settings;

use super::{Loader, OnError, Opened, Options, Plan};
use crate::recipe::{PackRecipe, Recipe, SourceRecipe, Stage};
use flow::PackFlow;
use infeed_core::{Begin, Cursor, Error, Flow, Order as _, Result, Spec, Stream, format::Fields};
use marks::{Mark, Marks};
use settings::Settings;
use std::sync::Arc;

/// The sequences that the documents of a plan are packed into.
#[derive(Debug)]
pub(crate) struct PackStream {
    plan: Arc<Plan>,
    settings: Arc<Settings>,
    spec: Spec,
    marks: Arc<Marks>,
}

impl PackStream {
    /// Opens the documents: the stages before `pack`, and the field to pack.
    pub(super) fn new(
        source: &SourceRecipe,
        stages: &[Stage],
        pack: &PackRecipe,
        open: &mut dyn FnMut(&SourceRecipe) -> Result<Opened>,
    ) -> Result<Self> {
        let settings = Settings::new(pack)?;
        let mut stages = stages.to_vec();
        if stages.iter().any(|s| matches!(s, Stage::Batch { .. } | Stage::Pack(_))) {
            return Err(Error::plan("pack", "works on documents: put it before batch(), and only once"));
        }
        stages.push(Stage::Select { fields: vec![pack.on.clone()] });
        stages.push(Stage::batch(settings.group));
        let plan = Plan::with(Recipe { source: source.clone(), stages }, open)?;
        if let Some(what) = plan.python.first() {
            let what = format!("the Python function {what} comes before it: move it behind pack()");
            return Err(Error::plan("pack", what));
        }
        let spec = fields::spec(&settings, &plan.spec.fields[0].1)?;
        Ok(PackStream { plan: Arc::new(plan), settings: Arc::new(settings), spec, marks: Arc::default() })
    }

    /// The seed of the documents' transforms; transforms of sequences use the same.
    pub(super) fn seed(&self) -> u64 {
        self.plan.seed
    }
}

impl Stream for PackStream {
    fn runs_user_code(&self) -> bool {
        self.plan.runs_user_code()
    }

    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn fields_of_states(&self) -> Fields {
        fields::of_states(&self.settings, &self.spec)
    }

    fn parts(&self) -> u64 {
        1
    }

    fn start(&self, _: &[u64]) -> Result<Box<dyn Flow>> {
        let begin = Begin { parts: &[], epoch: 0, row: 0, mark: None, threads: 1, lenient: false };
        Ok(self.begin(&begin)?.0)
    }

    fn begin(&self, at: &Begin<'_>) -> Result<(Box<dyn Flow>, u64)> {
        let told = at.mark.and_then(Mark::parse).filter(|mark| mark.epoch == at.epoch && mark.row <= at.row);
        let mark = told.unwrap_or(Mark { epoch: at.epoch, ..Mark::default() });
        let options = Options {
            threads: Some(at.threads.max(1)),
            on_error: if at.lenient { OnError::Skip } else { OnError::Raise },
            error_limit: u64::MAX,
            persistent: false,
            ..Options::default()
        };
        let mut loader = Loader::new(Arc::clone(&self.plan), options)?;
        loader.seek(Cursor { epoch: at.epoch, place: mark.place });
        let flow = PackFlow::new(loader, Arc::clone(&self.settings), Arc::clone(&self.marks), mark)?;
        Ok((Box::new(flow), mark.row))
    }

    fn mark(&self, epoch: u64, row: u64) -> Option<String> {
        self.marks.before(epoch, row).map(|mark| mark.print())
    }

    fn identity(&self) -> String {
        let own = self.plan.identity();
        format!("|{}|{}|{}", own.data, own.order, self.settings.about)
    }

    fn describe(&self) -> String {
        format!("{}, of {} ({})", self.settings, self.plan.source.describe(), self.plan.order.describe())
    }
}
