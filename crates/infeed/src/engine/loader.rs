//! Runs a plan epoch after epoch.

use super::{
    Checkpoint, Decode, OnError, Options, Plan, Run,
    checkpoint::Position,
    course::Course,
    feed::{Feed, StreamReading},
    home::Home,
    options::Settled,
    threads::{Engine, Equipment, Shared},
};
#[cfg(feature = "remote")]
use crate::store::RemoteMark;
use crate::{
    batch::{ColumnLayout, Pool},
    order::{Ledger, World},
    trace::{Crew, RemoteUse, Stats, Trace},
};
use infeed_core::{Budget, Cursor, Error, Hold, Result, Scratch};
use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

/// How long a fork waits for a thread that pulls a stream.
const STREAM_PAUSE: Duration = Duration::from_secs(1);

/// Delivers batches, epoch after epoch. Memory and counters are kept as long as the loader; so are the threads while
/// each epoch follows the one before.
#[derive(Debug)]
pub struct Loader {
    plan: Arc<Plan>,
    layouts: Arc<[ColumnLayout]>,
    options: Options,
    settled: Settled,
    pool: Arc<Pool>,
    scratches: Arc<Mutex<Vec<Scratch>>>,
    budget: Arc<Budget>,
    trace: Arc<Trace>,
    /// Where the next iteration starts.
    next: Position,
    home: Arc<Home>,
    /// The cursor and mark of the checkpoint that was restored, for streams.
    mark: Option<(Cursor, String)>,
    /// What this process had asked of remote stores when the loader was made.
    #[cfg(feature = "remote")]
    asked: RemoteMark,
    /// The engines that were started; most have ended.
    engines: Vec<Weak<Shared>>,
}

impl Loader {
    /// Creates a loader for a plan and resolves its options.
    pub fn new(plan: Arc<Plan>, mut options: Options) -> Result<Self> {
        options.check()?;
        plan.check_world(&options.world)?;
        if plan.is_stream() && options.on_error == OnError::Replace {
            return Err(Error::argument(
                "on_error=\"replace\" needs another row, which a stream cannot look up: use \"skip\"",
            ));
        }
        let each = plan.batch.each(options.world.size);
        let layouts = plan.layouts_for(options.decode);
        // What is left to a device stays in memory as a file, too.
        let files = if layouts.iter().any(is_deferred) && plan.source.rows() > 0 {
            plan.source.row_bytes(0, &plan.fields)
        } else {
            0
        };
        let sample = plan.sample_bytes() + files;
        let settled = options.settle(each, sample * each as u64, plan.source.network().is_some())?;
        options.decode = options.decode.settled(settled.threads);
        plan.source.set_memory(options.memory);
        plan.source.set_largest_row(settled.sample_bytes);
        if let Some(stream) = &plan.stream {
            stream.stream.set_largest_row(settled.sample_bytes);
        }
        // Per field: the batches being made, the one the consumer holds and the one it is about to take.
        let pool = Pool::new((settled.prefetch + 2) * (plan.spec.fields.len() + plan.changes.len()).max(1));
        let ledger = Ledger::new(plan.identity().ledger()).with_rows(options.ledger_rows);
        let mut loader = Loader {
            plan,
            layouts,
            settled,
            pool,
            scratches: Arc::default(),
            budget: Arc::new(Budget::new(settled.sample_bytes)),
            trace: Arc::default(),
            next: Position::default(),
            home: Arc::new(Home::new(ledger)),
            mark: None,
            #[cfg(feature = "remote")]
            asked: RemoteMark::now(),
            engines: vec![],
            options,
        };
        loader.set_epoch(loader.options.epoch);
        Ok(loader)
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The rank this loader works for.
    pub fn world(&self) -> &World {
        &self.options.world
    }

    /// The epoch that the next [`Loader::start`] runs.
    pub fn epoch(&self) -> u64 {
        self.next.lap
    }

    /// The most bytes that one array of a batch may have.
    pub fn batch_bytes(&self) -> u64 {
        self.settled.batch_bytes
    }

    /// The fields whose images a device completes: their columns are [`Column::Deferred`](crate::Column).
    pub fn deferred(&self) -> Vec<Arc<str>> {
        let fields = self.plan.spec.fields.iter().zip(self.layouts.iter());
        fields.filter(|(_, layout)| is_deferred(layout)).map(|((name, _), _)| Arc::clone(name)).collect()
    }

    /// The share of the rows that threads decode beside a device.
    pub fn share(&self) -> Option<f64> {
        if let Decode::Both(share) = self.options.decode { share } else { None }
    }

    /// Steps of an epoch, the same on every rank; `None` if it is endless or its length is not known in advance.
    pub fn steps(&self) -> Option<u64> {
        match (self.options.steps_per_epoch, self.options.endless) {
            (Some(steps), _) => Some(steps),
            (None, true) => None,
            (None, false) if self.plan.stream.is_some() => None,
            (None, false) => Some(self.plan.steps(&self.options.world, 0).count()),
        }
    }

    /// Chooses the epoch that the next [`Loader::start`] runs, from its beginning. Naming the epoch that comes next
    /// anyway changes nothing, even in mid-epoch, so a loop that calls this after loading a state resumes where it
    /// was.
    pub fn set_epoch(&mut self, epoch: u64) {
        if epoch == self.next.lap && self.next != Position::default() {
            return;
        }
        let cursor = match self.options.steps_per_epoch {
            None => Cursor { epoch, place: 0 },
            Some(steps) => {
                let start = Course::new(&self.plan, &self.options.world, Cursor::default());
                // The end of an epoch and the start of the next are the same position.
                start.after(epoch.saturating_mul(steps))
            }
        };
        self.next = Position { lap: epoch, step: 0, cursor };
        self.home.stand(self.next);
    }

    /// Starts an epoch, or resumes the one a state was loaded for, and advances to the next.
    pub fn start(&mut self) -> Result<Run> {
        let mut at = self.next;
        if self.plan.stream.is_some() && self.options.steps_per_epoch.is_some() {
            // The position of a stream after so many steps is known only once they were taken.
            at.cursor = self.home.position().cursor;
        }
        let course = Course::new(&self.plan, &self.options.world, at.cursor);
        let steps = match (self.options.steps_per_epoch, self.options.endless) {
            (_, true) => Some(u64::MAX),
            (Some(steps), false) => Some(steps.saturating_sub(at.step)),
            (None, false) if self.plan.stream.is_some() => None,
            (None, false) => Some(course.left_in_epoch()),
        };
        // Another loader over the same source may have been given other memory since.
        self.plan.source.set_memory(self.options.memory);
        let engine = match self.home.take(at.cursor) {
            Some(engine) => engine,
            None => {
                let feed =
                    Feed::new(&self.plan, &self.options.world, at.cursor, self.stream_reading(at.cursor));
                // Without further epochs there is no reason to prefetch beyond this one.
                let limit = if self.options.persistent { u64::MAX } else { steps.unwrap_or(u64::MAX) };
                Engine::start(self.equipment(), at.cursor, feed, limit)?
            }
        };
        self.plan.epoch_begins(&self.trace);
        self.remember(&engine);
        self.next = Position {
            lap: at.lap + 1,
            step: 0,
            cursor: match self.options.steps_per_epoch {
                None => Cursor { epoch: at.cursor.epoch + 1, place: 0 },
                Some(_) => course.after(steps.unwrap_or(0)),
            },
        };
        self.home.stand(at);
        Ok(Run::new(engine, at, steps, self.next, Arc::clone(&self.home)))
    }

    /// Returns what an engine of this loader works with.
    fn equipment(&self) -> Equipment {
        Equipment {
            plan: Arc::clone(&self.plan),
            layouts: Arc::clone(&self.layouts),
            decode: self.options.decode,
            settled: self.settled,
            on_error: self.options.on_error,
            skip_unreadable: self.options.skip_unreadable,
            error_limit: self.options.error_limit,
            stall: self.options.stall,
            chaos: self.options.chaos,
            budget: Arc::clone(&self.budget),
            world: self.options.world.clone(),
            pool: Arc::clone(&self.pool),
            scratches: Arc::clone(&self.scratches),
            trace: Arc::clone(&self.trace),
        }
    }

    /// Returns how a stream is read from `at` on.
    fn stream_reading(&self, at: Cursor) -> StreamReading {
        StreamReading {
            threads: self.settled.threads,
            lenient: self.options.on_error == OnError::Skip,
            batch_bytes: self.settled.batch_bytes,
            mark: self.mark.iter().find(|(cursor, _)| *cursor == at).map(|(_, mark)| mark.clone()),
        }
    }

    /// Moves to a place without a checkpoint, for streams that are made from another plan.
    pub(super) fn seek(&mut self, at: Cursor) {
        self.next = Position { lap: at.epoch, step: 0, cursor: at };
        self.home.stand(self.next);
    }

    /// Returns the place up to which batches were received.
    pub(super) fn place(&self) -> u64 {
        self.home.position().cursor.place
    }

    /// Starts a run over row numbers given from outside by [`Run::give`]. Random transforms see them in this epoch.
    /// Checkpoint and ledger do not cover it: the caller knows which rows it gave.
    pub fn start_given(&mut self, epoch: u64) -> Result<Run> {
        if self.plan.is_stream() {
            return Err(Error::argument("rows of a stream cannot be looked up, so they cannot be given"));
        }
        self.plan.source.set_memory(self.options.memory);
        let feed = Feed::Given(epoch, Mutex::default());
        let engine = Engine::start(self.equipment(), Cursor { epoch, place: 0 }, feed, 0)?;
        self.remember(&engine);
        Ok(Run::of_given_rows(engine, Arc::clone(&self.home)))
    }

    fn remember(&mut self, engine: &Engine) {
        self.engines.retain(|old| old.strong_count() > 0);
        let new = Arc::downgrade(&engine.shared);
        if !self.engines.iter().any(|old| old.ptr_eq(&new)) {
            self.engines.push(new);
        }
    }

    /// Pauses every thread where it holds no lock, waiting at most `patience`: the process is about to fork. Returns whether
    /// all of them are paused.
    pub fn pause(&self, patience: Duration) -> bool {
        // The thread that pulls a stream may wait for a pipe or a user's iterator as long as those please. It holds nothing
        // that another engine over the same plan would need.
        let stream = self.plan.stream.is_some();
        let patience = if stream { patience.min(STREAM_PAUSE) } else { patience };
        self.own_engines().all(|shared| shared.sleep.pause(patience) || stream)
    }

    /// Resumes the threads.
    pub fn go_on(&self) {
        self.own_engines().for_each(|shared| shared.sleep.go_on());
    }

    /// The engines whose threads are in this process: those of a parent may have left their locks held.
    fn own_engines(&self) -> impl Iterator<Item = Arc<Shared>> {
        self.engines.iter().filter_map(Weak::upgrade).filter(|shared| shared.process.is_here())
    }

    /// Returns the consumer's position: what it has received.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint::new(&self.plan, self.home.position())
    }

    /// Resumes from a checkpoint: the next [`Loader::start`] gives the batch that would have come next. Data, order
    /// and seed must be the same; with `strict` decoders and transforms must be too.
    pub fn restore(&mut self, checkpoint: &Checkpoint, strict: bool) -> Result<()> {
        let mut at = checkpoint.position(&self.plan, strict)?;
        if self.options.steps_per_epoch.is_none() {
            at.lap = at.cursor.epoch;
        }
        self.mark = checkpoint.mark().map(|mark| (at.cursor, mark.to_owned()));
        self.next = at;
        self.home.stand(at);
        self.home.clear();
        Ok(())
    }

    /// Returns the record of what was handed out so far.
    pub fn ledger(&self) -> Ledger {
        self.home.ledger.hold().clone()
    }

    /// Stops the threads that wait for the next epoch. They are restarted when it starts.
    pub fn rest(&self) {
        self.home.clear();
    }

    /// Whether threads are waiting for the next epoch.
    pub fn is_warm(&self) -> bool {
        self.home.is_warm()
    }

    fn crew(&self) -> Crew {
        let Settled { threads, io_threads, cpus, priority, .. } = self.settled;
        Crew { threads, io_threads, cpus, priority: priority.name() }
    }

    /// Describes the threads in words, as the last line of what the plan says.
    pub fn explain_threads(&self) -> String {
        format!("threads {}\n", self.crew())
    }

    /// Returns statistics of the work done so far.
    pub fn stats(&self) -> Stats {
        let damage = self.plan.source.damage();
        let stats = Stats::of(&self.trace, self.crew(), damage);
        let stats = self.plan.add_to(stats, &self.trace);
        let stats = stats.with_remote(self.remote_use());
        if self.options.chaos.is_some() { stats.with_chaos(&self.trace) } else { stats }
    }

    /// Returns what this process has asked of remote stores since the loader was made, and the seconds that its requests took;
    /// `None` if it asked for nothing.
    fn remote_use(&self) -> Option<(RemoteUse, f64)> {
        #[cfg(feature = "remote")]
        {
            let all = self.asked.since();
            let seen = RemoteUse {
                requests: all.requests,
                retries: all.retries,
                slow_downs: all.slow_downs,
                hedges: all.hedges,
                bytes: all.bytes,
                in_flight: all.in_flight,
                mean_in_flight: 0.0,
                reads_ready: all.reads_ready,
                reads_waited: all.reads_waited,
                latency_ms: all.latency_ms,
                fastest_ms: all.fastest_ms,
            };
            (all.requests > 0).then_some((seen, all.request_s))
        }
        #[cfg(not(feature = "remote"))]
        None
    }
}

fn is_deferred(layout: &ColumnLayout) -> bool {
    matches!(layout, ColumnLayout::Deferred { .. })
}

impl Drop for Loader {
    fn drop(&mut self) {
        // A run still in progress may give its engine back later; it must not be parked then.
        self.home.leave();
    }
}
