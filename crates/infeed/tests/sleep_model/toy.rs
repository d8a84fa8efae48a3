//! An engine whose batches are numbers and whose work is empty: only the thread interaction is real.

use crate::{
    board::{Flight, Piece, Rules, Toy},
    protocol::{Board, Held, Look, Sleep, ThreadKind},
    sync::{Hold, WaitHeld},
};
use shuttle::{
    rand::{Rng, thread_rng},
    sync::{Arc, Condvar, Mutex},
    thread::{self, JoinHandle},
};
use std::{
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Instant,
};

/// Pieces that were started, so that one piece can wait for another.
#[derive(Default)]
pub(crate) struct Meeting {
    begun: Mutex<Vec<Piece>>,
    another: Condvar,
}

impl Meeting {
    fn begin(&self, piece: Piece) {
        self.begun.hold().push(piece);
        self.another.notify_all();
    }

    pub(crate) fn wait_for(&self, piece: Piece) {
        let mut begun = self.begun.hold();
        while !begun.contains(&piece) {
            begun = self.another.wait_held(begun);
        }
    }

    /// Starts a piece; if it is one of a pair, waits for the other.
    fn meet(&self, piece: Piece, pair: Option<[Piece; 2]>) {
        self.begin(piece);
        if let Some([a, b]) = pair
            && (piece == a || piece == b)
        {
            self.wait_for(if piece == a { b } else { a });
        }
    }
}

pub(crate) struct Engine {
    pub(crate) sleep: Sleep<Toy>,
    rules: Rules,
    /// Threads that are currently at work.
    pub(crate) at_work: AtomicUsize,
    pub(crate) reads: Meeting,
    work: Meeting,
}

impl Engine {
    pub(crate) fn start(rules: Rules, readers: usize, workers: usize) -> (Arc<Engine>, Vec<JoinHandle<()>>) {
        let engine = Arc::new(Engine {
            sleep: Sleep::new(Toy::new(rules.clone())),
            rules,
            at_work: AtomicUsize::new(0),
            reads: Meeting::default(),
            work: Meeting::default(),
        });
        let lives = std::iter::repeat_n(Engine::read as fn(&Engine), readers)
            .chain(std::iter::repeat_n(Engine::work as fn(&Engine), workers));
        let threads = lives
            .map(|life| {
                let engine = Arc::clone(&engine);
                thread::spawn(move || life(&engine))
            })
            .collect();
        (engine, threads)
    }

    /// The loop of an I/O thread.
    fn read(&self) {
        let mut hand = self.sleep.hand(ThreadKind::Reader);
        while let Some(piece) = hand.next(|mut toy| {
            if toy.slow {
                if let Some(piece) = toy.take_unread() {
                    self.at_work.fetch_add(1, SeqCst);
                    return Look::Found(toy, piece);
                }
                if toy.wants_plan() {
                    return Look::Again(self.plan(toy));
                }
            }
            Look::Nothing(toy)
        }) {
            self.reads.meet(piece, self.rules.reads_meet);
            let mut toy = self.sleep.lock();
            toy.flight(piece.0).ready.push_back(piece);
            if self.rules.slow.is_none() {
                toy.slow = thread_rng().r#gen();
            }
            toy.piece_read();
            drop(toy);
            self.at_work.fetch_sub(1, SeqCst);
        }
    }

    /// The loop of a worker.
    fn work(&self) {
        let mut hand = self.sleep.hand(ThreadKind::Worker);
        while let Some(piece) = hand.next(|mut toy| {
            let unread = |toy: &mut Toy| self.rules.workers_read.then(|| toy.take_unread_now()).flatten();
            if let Some(piece) = toy.take_ready().or_else(|| unread(&mut toy)) {
                self.at_work.fetch_add(1, SeqCst);
                return Look::Found(toy, piece);
            }
            if toy.wants_plan_now() {
                return Look::Again(self.plan(toy));
            }
            Look::Nothing(toy)
        }) {
            self.work.meet(piece, self.rules.work_meets);
            if let Some((work, read)) = self.rules.work_needs_read
                && work == piece
            {
                self.reads.wait_for(read);
            }
            self.finish(piece);
            self.at_work.fetch_sub(1, SeqCst);
        }
    }

    fn finish(&self, piece: Piece) {
        let mut toy = self.sleep.lock();
        toy.ahead -= 1;
        let flight = toy.flight(piece.0);
        flight.left -= 1;
        if flight.left > 0 {
            toy.piece_finished();
            return;
        }
        // The batch is closed without the lock.
        let (mut toy, ()) = toy.let_go(thread::yield_now);
        toy.flight(piece.0).done = true;
        toy.batch_finished();
    }

    fn plan<'a>(&'a self, toy: Held<'a, Toy>) -> Held<'a, Toy> {
        toy.busy_with(|mut toy| {
            let number = toy.next;
            toy.next += 1;
            let pieces: VecDeque<Piece> = (0..self.rules.pieces).map(|piece| (number, piece)).collect();
            let left = pieces.len();
            if self.rules.stream {
                toy.planning = true;
                let (mut toy, ()) = toy.let_go(thread::yield_now);
                toy.planning = false;
                toy.ahead += left;
                // A batch without pieces marks an end: there is no work to do for it.
                let done = left == 0;
                toy.flights.push_back(Flight { number, unread: VecDeque::new(), ready: pieces, left, done });
                toy.batch_pulled();
                return toy;
            }
            toy.flights.push_back(Flight {
                number,
                unread: pieces,
                ready: VecDeque::new(),
                left,
                done: false,
            });
            toy.batch_planned();
            // The store is told which rows are coming.
            toy.let_go(thread::yield_now).0
        })
    }

    /// Takes the oldest batch, as the consumer. Returns `None` if the engine was stopped.
    pub(crate) fn take(&self) -> Option<usize> {
        let mut toy = self.sleep.until_ready(Instant::now(), None)?;
        if !toy.is_ready() {
            return None;
        }
        let flight = toy.flights.pop_front()?;
        toy.batch_taken();
        Some(flight.number)
    }

    /// Adds batches from outside.
    pub(crate) fn give(&self, batches: usize) {
        let mut toy = self.sleep.lock();
        toy.limit += batches;
        toy.batches_given();
    }

    /// Reports a lost thread through the oldest batch.
    pub(crate) fn lose_thread(&self) {
        let mut toy = self.sleep.lock();
        let (unread, ready) = (VecDeque::new(), VecDeque::new());
        toy.flights.push_back(Flight { number: 0, unread, ready, left: 0, done: true });
        toy.thread_lost();
    }
}
