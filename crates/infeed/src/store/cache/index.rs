//! What is kept, as one process knows it: the journal's records, applied to the policy.

use super::{
    claim::remove_abandoned,
    journal::{Event, Journal, Record},
    object::{ChunkId, Object, PART, folder},
    policy::{Policy, Uses},
    process::Future,
    shared::OBJECTS,
};
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A chunk that should be kept; its bytes are those of its file.
pub(super) type Wish = super::policy::Wish<ChunkId>;

/// What is kept.
#[derive(Debug)]
pub(super) struct Index {
    root: PathBuf,
    policy: Policy<ChunkId>,
    journal: Journal,
    objects: RefCell<HashMap<u128, Option<Arc<Object>>>>,
    /// Uses that other processes do not know of yet.
    used: Vec<(ChunkId, u64)>,
    /// Chunks that this process is writing.
    own: HashSet<ChunkId>,
}

/// The answers of a [`Foresight`](infeed_core::Foresight) about chunks.
struct ChunkUses<'a> {
    future: &'a Future,
    root: &'a Path,
    objects: &'a RefCell<HashMap<u128, Option<Arc<Object>>>>,
}

impl Uses<ChunkId> for ChunkUses<'_> {
    fn version(&self) -> (u64, u64) {
        (self.future.number, self.future.foresight.version())
    }

    fn needed(&self, id: ChunkId) -> Option<u64> {
        // Objects that other processes have brought are asked about by the names in their folders.
        let mut objects = self.objects.borrow_mut();
        if objects.len() >= OBJECTS {
            objects.clear();
        }
        let load = || Object::load(self.root, id.0).map(Arc::new);
        let object = objects.entry(id.0).or_insert_with(load).as_deref()?;
        self.future.foresight.needed(&object.shard, &object.grid.bytes(id.1))
    }
}

impl Index {
    /// Opens the index of a cache. With `alone`, nobody else uses it: what killed processes have left is cleared away.
    pub(super) fn open(root: &Path, limit: u64, alone: bool) -> io::Result<Index> {
        let mut index = Index {
            root: root.to_owned(),
            policy: Policy::new(limit),
            journal: Journal::open(root)?,
            objects: RefCell::default(),
            used: Vec::new(),
            own: HashSet::new(),
        };
        index.locked(|_, _| Ok(()))?;
        if alone && index.policy.reserved().next().is_some() {
            clear_parts(root);
            index.recount()?;
        }
        Ok(index)
    }

    /// Counts what is there, whatever was written down.
    pub(super) fn recount(&mut self) -> io::Result<()> {
        self.locked(|index, _| {
            let news = index.journal.rebuild()?;
            index.policy.clear();
            news.records.iter().for_each(|record| index.apply(record));
            Ok(())
        })
    }

    pub(super) fn policy(&self) -> &Policy<ChunkId> {
        &self.policy
    }

    pub(super) fn set_limit(&mut self, limit: u64) {
        self.policy.set_limit(limit);
    }

    /// Makes an object known by its key.
    pub(super) fn know(&mut self, object: &Arc<Object>) {
        let objects = self.objects.get_mut();
        if objects.len() >= OBJECTS {
            objects.clear();
        }
        objects.entry(object.key).or_insert_with(|| Some(Arc::clone(object)));
    }

    fn apply(&mut self, record: &Record) {
        match record.event {
            Event::Reserved => self.policy.insert(record.id, record.bytes, true),
            Event::Kept => self.policy.insert(record.id, record.bytes, false),
            Event::Removed => {
                self.policy.remove(record.id);
            }
            Event::Used => self.policy.touch(record.id, record.bytes),
        }
    }

    /// Does something with the lock held and everything known that others have done.
    fn locked<T>(
        &mut self,
        work: impl FnOnce(&mut Index, &mut Vec<Record>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.journal.lock()?;
        let done = self.locked_already(work);
        self.journal.unlock();
        done
    }

    fn locked_already<T>(
        &mut self,
        work: impl FnOnce(&mut Index, &mut Vec<Record>) -> io::Result<T>,
    ) -> io::Result<T> {
        let news = self.journal.news()?;
        if news.anew {
            self.policy.clear();
        }
        news.records.iter().for_each(|record| self.apply(record));
        let used = self.used.drain(..);
        let mut records: Vec<Record> =
            used.map(|(id, bytes)| Record { event: Event::Used, id, bytes }).collect();
        let done = work(self, &mut records)?;
        self.journal.append(&records)?;
        if self.journal.is_long(self.policy.chunks()) {
            let one = |(id, bytes, reserved)| Record {
                event: if reserved { Event::Reserved } else { Event::Kept },
                id,
                bytes,
            };
            let all: Vec<Record> = self.policy.all().map(one).collect();
            self.journal.replace(&all)?;
        }
        Ok(done)
    }

    /// Some bytes of chunks were used.
    pub(super) fn touch(&mut self, used: &mut HashMap<ChunkId, u64>) {
        for (id, bytes) in used.drain() {
            self.policy.touch(id, bytes);
            self.used.push((id, bytes));
        }
        if self.used.len() > 8192 && self.locked(|_, _| Ok(())).is_err() {
            self.used.clear();
        }
    }

    /// Whether a chunk would be kept, as far as this process knows.
    pub(super) fn would_keep(&mut self, wish: Wish, future: Option<&Future>) -> bool {
        self.admit(wish, future).is_some()
    }

    fn admit(&mut self, wish: Wish, future: Option<&Future>) -> Option<Vec<ChunkId>> {
        let uses = future.map(|future| ChunkUses { future, root: &self.root, objects: &self.objects });
        self.policy.admit(wish, uses.as_ref().map(|uses| uses as &dyn Uses<ChunkId>))
    }

    /// Makes room for a chunk and counts its bytes. Returns the others that had to go, or `None` if there is no room.
    pub(super) fn reserve(
        &mut self,
        wish: Wish,
        future: Option<&Future>,
    ) -> io::Result<Option<Vec<ChunkId>>> {
        self.locked(|index, records| {
            let mut victims = index.admit(wish, future);
            if victims.is_none() && index.reap(records) {
                victims = index.admit(wish, future);
            }
            let Some(victims) = victims else { return Ok(None) };
            for victim in &victims {
                // One that is gone already was counted for too long.
                let _ = fs::remove_file(path(&index.root, *victim));
                index.policy.remove(*victim);
                records.push(Record { event: Event::Removed, id: *victim, bytes: 0 });
            }
            index.policy.insert(wish.id, wish.bytes, true);
            index.own.insert(wish.id);
            records.push(Record { event: Event::Reserved, id: wish.id, bytes: wish.bytes });
            Ok(Some(victims))
        })
    }

    /// Says what became of chunks that were reserved: written, or not.
    pub(super) fn settle(&mut self, settled: &[(Wish, bool)]) -> io::Result<()> {
        if settled.is_empty() {
            return Ok(());
        }
        for (wish, _) in settled {
            self.own.remove(&wish.id);
        }
        self.locked(|index, records| {
            for (wish, written) in settled {
                let event = if *written { Event::Kept } else { Event::Removed };
                let record = Record { event, id: wish.id, bytes: wish.bytes };
                index.apply(&record);
                records.push(record);
            }
            Ok(())
        })
    }

    /// Settles what processes have reserved that are gone. Returns whether there was something.
    fn reap(&mut self, records: &mut Vec<Record>) -> bool {
        let reserved: Vec<ChunkId> = self.policy.reserved().filter(|id| !self.own.contains(id)).collect();
        let before = records.len();
        for id in reserved {
            let whole = path(&self.root, id);
            if remove_abandoned(&whole.with_extension(&PART[1..])) {
                // It was killed before it wrote the chunk, or before it said so.
                let record = match fs::metadata(&whole) {
                    Ok(data) => Record { event: Event::Kept, id, bytes: data.len() },
                    Err(_) => Record { event: Event::Removed, id, bytes: 0 },
                };
                self.apply(&record);
                records.push(record);
            }
        }
        records.len() > before
    }
}

/// The file of a chunk.
fn path(root: &Path, id: ChunkId) -> PathBuf {
    folder(root, id.0).join(format!("{:08}", id.1))
}

/// Removes what processes that are gone had begun to write.
pub(super) fn clear_parts(root: &Path) {
    super::object::for_each_file(root, |_, name, path| {
        if name.ends_with(PART) {
            remove_abandoned(path);
        }
    });
}
