//! Making the log agree with the files.

use super::{
    files,
    log::{Event, Log, RECORD, Record},
    state::{Places, State},
};
use std::{collections::HashMap, io, sync::PoisonError};

impl State {
    /// Makes the records agree with the files, when nobody else is there: what killed processes were granted and did not use
    /// is free again, and what belongs to no file is forgotten.
    pub(super) fn recount(&mut self, places: &Places) -> io::Result<()> {
        self.log.lock()?;
        let done = self.recounted(places);
        self.log.unlock();
        done
    }

    fn recounted(&mut self, places: &Places) -> io::Result<()> {
        let mut all = Log::open(&self.root)?;
        let records = all.news()?.records;
        let mut granted: HashMap<u128, u64> = HashMap::new();
        let mut kept: HashMap<(u128, u128), Record> = HashMap::new();
        for record in &records {
            let sum = granted.entry(record.shelf).or_default();
            match record.event {
                Event::Granted => *sum = sum.saturating_add(record.place.len),
                Event::Returned => *sum = sum.saturating_sub(record.place.len),
                Event::Kept => drop(kept.insert((record.shelf, record.sample), *record)),
                Event::Gone => {
                    *sum = 0;
                    kept.retain(|(shelf, _), _| *shelf != record.shelf);
                }
            }
        }
        let mut real: HashMap<u128, u64> = HashMap::new();
        for shelf in files::shelves(&self.root) {
            let samples = kept.keys().filter(|(of, _)| *of == shelf).count() as u64;
            real.insert(shelf, files::bytes(&self.root, shelf) + samples * RECORD as u64);
        }
        granted.retain(|_, bytes| *bytes > 0);
        let mut there = real.clone();
        there.retain(|_, bytes| *bytes > 0);
        if granted == there && records.len() < 64 + 4 * kept.len() {
            return Ok(());
        }
        let mut anew: Vec<Record> =
            there.iter().map(|(shelf, bytes)| Record::bytes(Event::Granted, *shelf, *bytes)).collect();
        anew.extend(kept.into_values().filter(|record| real.contains_key(&record.shelf)));
        self.log.replace(&anew)?;
        self.granted.clear();
        let mut places = places.write().unwrap_or_else(PoisonError::into_inner);
        places.clear();
        anew.iter().for_each(|record| self.apply(record, &mut places));
        Ok(())
    }
}
