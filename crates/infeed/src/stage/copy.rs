//! Copies many files with some threads, piece by piece.
//!
//! Threads take pieces in the order of the files, so that one large file is read as fast as many small ones. Files are
//! opened (and their locks taken) a little before their pieces are read, and what comes next is announced to the store.
//! A file that another process copies is left for later; in the end this process waits for it, and takes over if the other
//! one dies.

use super::{
    Progress,
    manifest::Manifest,
    names::Item,
    part::{Part, Piece},
};
use infeed_core::{
    Error, Result, Store,
    sync::{Hold, WaitHeld},
};
use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

/// Time between two looks of the caller at the progress, and at files that other processes copy.
const LOOK: Duration = Duration::from_millis(100);

/// What is to be copied, and how.
#[derive(Debug)]
pub(super) struct Copying<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) folder: &'a Path,
    pub(super) verify: bool,
    pub(super) threads: usize,
    pub(super) manifest: Mutex<Manifest>,
}

/// The files of one pass, and what has become of them.
#[derive(Debug)]
struct Pass<'a> {
    items: &'a [&'a Item],
    /// The first that nobody has opened.
    next: usize,
    /// How many are being opened.
    opening: usize,
    /// Those that are open, each with its next piece.
    open: VecDeque<(Arc<Part>, usize)>,
    /// Pieces of open files that nobody has taken.
    pieces: usize,
    /// Those that other processes copy.
    busy: Vec<usize>,
    alive: usize,
    error: Option<Error>,
    stop: bool,
    progress: Progress,
}

/// What a thread does next.
enum Step {
    Open(usize),
    Copy(Arc<Part>, usize),
    End,
}

/// Says when a thread has ended, even by a panic: the caller waits for it.
struct Alive<'a, 'i> {
    pass: &'a Mutex<Pass<'i>>,
    changed: &'a Condvar,
    over: &'a Condvar,
}

impl Drop for Alive<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.pass.hold();
        state.alive -= 1;
        state.stop |= std::thread::panicking();
        drop(state);
        self.changed.notify_all();
        self.over.notify_all();
    }
}

impl Copying<'_> {
    /// Copies the files. `watch` sees the progress a few times a second; it stops the copying by returning false. Returns
    /// whether it went to the end.
    pub(super) fn run(
        &self,
        items: &[&Item],
        progress: &mut Progress,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<bool> {
        let mut left: Vec<&Item> = items.to_vec();
        while !left.is_empty() {
            let pass = Pass {
                items: &left,
                next: 0,
                opening: 0,
                open: VecDeque::new(),
                pieces: 0,
                busy: Vec::new(),
                alive: self.threads,
                error: None,
                stop: false,
                progress: progress.clone(),
            };
            let pass = self.pass(pass, watch);
            *progress = pass.progress;
            if let Some(error) = pass.error {
                return Err(error);
            }
            if pass.stop {
                return Ok(false);
            }
            left = pass.busy.iter().map(|at| left[*at]).collect();
            progress.waiting = left.len() as u64;
            if !left.is_empty() {
                std::thread::sleep(LOOK);
                if !watch(progress) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn pass<'i>(&self, pass: Pass<'i>, watch: &mut dyn FnMut(&Progress) -> bool) -> Pass<'i> {
        let (pass, changed, over) = (Mutex::new(pass), Condvar::new(), Condvar::new());
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| {
                    let _alive = Alive { pass: &pass, changed: &changed, over: &over };
                    self.work(&pass, &changed);
                });
            }
            let mut state = pass.hold();
            while state.alive > 0 {
                state = over.wait_held_for(state, LOOK);
                let now = state.progress.clone();
                drop(state);
                let go_on = watch(&now);
                state = pass.hold();
                if !go_on {
                    state.stop = true;
                }
            }
        });
        pass.into_held()
    }

    /// What a thread does.
    fn work(&self, pass: &Mutex<Pass<'_>>, changed: &Condvar) {
        loop {
            let done = match self.step(pass, changed) {
                Step::Open(at) => self.open(pass, at),
                Step::Copy(part, piece) => self.copy(pass, &part, piece),
                Step::End => break,
            };
            let mut state = pass.hold();
            if let Err(error) = done {
                state.stop = true;
                state.error.get_or_insert(error);
            }
            drop(state);
            changed.notify_all();
        }
    }

    fn step(&self, pass: &Mutex<Pass<'_>>, changed: &Condvar) -> Step {
        let mut state = pass.hold();
        loop {
            if state.stop {
                return Step::End;
            }
            // As many pieces again as are being read: they can be announced.
            if state.pieces < self.threads && state.next < state.items.len() {
                state.next += 1;
                state.opening += 1;
                return Step::Open(state.next - 1);
            }
            if let Some((part, piece)) = state.open.front_mut() {
                let (part, taken) = (Arc::clone(part), *piece);
                *piece += 1;
                if *piece == part.pieces() {
                    state.open.pop_front();
                }
                state.pieces -= 1;
                drop(state);
                let ahead = taken + self.threads;
                part.announce(self.store, ahead..ahead + 1);
                return Step::Copy(part, taken);
            }
            if state.opening == 0 {
                return Step::End;
            }
            state = changed.wait_held(state);
        }
    }

    /// Opens a file for copying, if nobody else has it and it is not there already.
    fn open(&self, pass: &Mutex<Pass<'_>>, at: usize) -> Result<()> {
        let item = pass.hold().items[at];
        let opened = Part::claim(self.folder, item).and_then(|part| {
            let Some(part) = part else { return Ok(None) };
            let there = self.is_there(item)?;
            Ok(Some((part, there)))
        });
        let finished = |state: &mut Pass<'_>| {
            state.progress.files += 1;
            state.progress.bytes += item.shard.size;
        };
        let mut state = pass.hold();
        state.opening -= 1;
        match opened? {
            None => state.busy.push(at),
            // Another process finished it since the manifest was read.
            Some((part, true)) => {
                finished(&mut state);
                drop(state);
                part.remove();
            }
            Some((part, false)) if part.pieces() == 0 => {
                drop(state);
                self.finish(&part)?;
                finished(&mut pass.hold());
            }
            Some((part, false)) => {
                let part = Arc::new(part);
                state.pieces += part.pieces();
                state.open.push_back((Arc::clone(&part), 0));
                drop(state);
                part.announce(self.store, 0..self.threads);
            }
        }
        Ok(())
    }

    /// Whether the copy of a file is complete, as far as all processes know.
    fn is_there(&self, item: &Item) -> Result<bool> {
        let Ok(copy) = std::fs::symlink_metadata(self.folder.join(&item.name)) else { return Ok(false) };
        let mut manifest = self.manifest.hold();
        manifest.refresh()?;
        Ok(manifest.get(&item.name).is_some_and(|entry| entry.fits(&item.shard) && entry.is(&copy)))
    }

    fn copy(&self, pass: &Mutex<Pass<'_>>, part: &Part, piece: usize) -> Result<()> {
        let Piece { last, new } = part.copy(self.store, piece)?;
        let range = part.range(piece);
        if last {
            self.finish(part)?;
        }
        let mut state = pass.hold();
        let len = range.end - range.start;
        state.progress.bytes += len;
        state.progress.copied += if new { len } else { 0 };
        state.progress.files += u64::from(last);
        Ok(())
    }

    /// Puts a copy in its place. The entry comes first: a copy without one would be taken for somebody else's file.
    fn finish(&self, part: &Part) -> Result<()> {
        let entry = part.check(self.store, self.verify)?;
        self.manifest.hold().add(entry)?;
        part.finish()
    }
}
