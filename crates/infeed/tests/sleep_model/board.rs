//! The board of the toy engine: batches that are only counted.

use crate::protocol::Board;
use std::collections::VecDeque;

/// A piece: the number of its batch, and its own number in it.
pub(crate) type Piece = (usize, usize);

/// One batch in progress.
pub(crate) struct Flight {
    pub(crate) number: usize,
    pub(crate) unread: VecDeque<Piece>,
    pub(crate) ready: VecDeque<Piece>,
    pub(crate) left: usize,
    pub(crate) done: bool,
}

/// The configuration of a scenario.
#[derive(Clone)]
pub(crate) struct Rules {
    /// Maximum batches to make.
    pub(crate) limit: usize,
    /// Pieces of a batch.
    pub(crate) pieces: usize,
    /// Batches that workers may work on.
    pub(crate) prefetch: usize,
    /// Pieces that may be read ahead beyond the oldest batch.
    pub(crate) ahead: usize,
    /// Whether workers read unread pieces themselves. If not, they depend on the I/O threads.
    pub(crate) workers_read: bool,
    /// Whether batches come from a stream.
    pub(crate) stream: bool,
    /// Whether reads are slow; `None` alternates.
    pub(crate) slow: Option<bool>,
    /// Two pieces that are read, or finished, only while the other is being read, or finished, too.
    pub(crate) reads_meet: Option<[Piece; 2]>,
    pub(crate) work_meets: Option<[Piece; 2]>,
    /// A piece that is finished only while another one is being read.
    pub(crate) work_needs_read: Option<(Piece, Piece)>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            limit: 4,
            pieces: 2,
            prefetch: 2,
            ahead: 2,
            workers_read: true,
            stream: false,
            slow: None,
            reads_meet: None,
            work_meets: None,
            work_needs_read: None,
        }
    }
}

pub(crate) struct Toy {
    rules: Rules,
    pub(crate) flights: VecDeque<Flight>,
    pub(crate) next: usize,
    pub(crate) limit: usize,
    pub(crate) ahead: usize,
    pub(crate) planning: bool,
    pub(crate) slow: bool,
}

impl Board for Toy {
    fn has_work(&self) -> bool {
        let reads = self.rules.workers_read;
        let mut window = self.flights.iter().take(self.rules.prefetch);
        window.any(|f| !f.ready.is_empty() || (reads && !f.unread.is_empty())) || self.wants_plan_now()
    }

    fn wants_readers(&self) -> bool {
        self.slow
    }

    fn is_ready(&self) -> bool {
        self.flights.front().is_some_and(|f| f.done)
    }

    fn well_ahead(&self) -> bool {
        2 * self.flights.iter().filter(|f| f.done).count() > self.rules.prefetch
    }
}

impl Toy {
    pub(crate) fn new(rules: Rules) -> Self {
        let (limit, slow) = (rules.limit, rules.slow.unwrap_or(true));
        Toy { flights: VecDeque::new(), next: 0, limit, ahead: 0, planning: false, slow, rules }
    }

    pub(crate) fn wants_plan(&self) -> bool {
        self.next < self.limit
            && !self.planning
            && self.flights.iter().all(|f| f.unread.is_empty())
            && (self.flights.len() < self.rules.prefetch || self.ahead < self.rules.ahead)
    }

    pub(crate) fn wants_plan_now(&self) -> bool {
        self.flights.len() < self.rules.prefetch && self.wants_plan()
    }

    pub(crate) fn take_unread(&mut self) -> Option<Piece> {
        let at = self.flights.iter().position(|f| !f.unread.is_empty())?;
        if at > 0 && self.ahead > 0 && self.ahead + 1 > self.rules.ahead {
            return None;
        }
        self.ahead += 1;
        self.flights[at].unread.pop_front()
    }

    pub(crate) fn take_ready(&mut self) -> Option<Piece> {
        self.flights.iter_mut().take(self.rules.prefetch).find_map(|f| f.ready.pop_front())
    }

    pub(crate) fn take_unread_now(&mut self) -> Option<Piece> {
        let piece = self.flights.iter_mut().take(self.rules.prefetch).find_map(|f| f.unread.pop_front())?;
        self.ahead += 1;
        Some(piece)
    }

    pub(crate) fn flight(&mut self, number: usize) -> &mut Flight {
        self.flights.iter_mut().find(|f| f.number == number).expect("a batch that has work left")
    }
}
