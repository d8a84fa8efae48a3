//! Runs the store suite over every entry of the table of stores.

use infeed::store::{
    FaultRates, Faults, FaultyStore, LocalStore, MemoryStore, STORES, Stores,
    conformance::{PutObject, StoreCase, check},
};
use infeed_core::{
    Store,
    signals::{self, Signals},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Checks every store of the table: by itself, behind [`Stores`], and wrapped in a store that injects no faults.
pub fn stores() -> Vec<String> {
    let mut faults = Vec::new();
    for entry in STORES {
        // Remote ones are checked against real servers, from Python.
        if entry.is_remote() {
            continue;
        }
        let Some(made) = case(entry.name) else {
            faults.push(format!("{}: the suite cannot write to it: add it to `case`", entry.name));
            continue;
        };
        let (case, _folder) = made;
        faults.extend(check(entry.name, &case));
        // Reads behind the end of an object are tried again for ten seconds, unless their run is over.
        let run = Arc::new(Signals::default());
        run.cancel();
        let _entered = signals::enter(&run);
        let all = StoreCase { store: Stores::shared(), many: 100, ..again(&case, entry.name) };
        faults.extend(check(&format!("{} behind all stores", entry.name), &all));
        let quiet = Faults::new(FaultRates::default());
        quiet.arm(true);
        let store = Arc::new(FaultyStore::new(Arc::clone(&case.store), quiet));
        let wrapped = StoreCase { store, many: 100, ..again(&case, entry.name) };
        faults.extend(check(&format!("{} wrapped", entry.name), &wrapped));
    }
    faults
}

/// Returns the same case in another folder.
fn again(case: &StoreCase, name: &str) -> StoreCase {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let root = format!("{}again-{}/", case.root, COUNT.fetch_add(1, Relaxed));
    StoreCase { store: Arc::clone(&case.store), put: writer(name), root, many: 0, lists: true }
}

/// A folder that is removed on drop.
#[derive(Debug)]
struct OwnFolder(Option<PathBuf>);

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns how to write to a store of the table.
fn case(name: &str) -> Option<(StoreCase, OwnFolder)> {
    let unique = format!("infeed-store-suite-{}", std::process::id());
    let (root, store, folder): (String, Arc<dyn Store>, _) = match name {
        "local" => {
            let folder = std::env::temp_dir().join(unique);
            (format!("{}/", folder.display()), Arc::new(LocalStore::new()), Some(folder))
        }
        "memory" => (format!("mem:{unique}/"), Arc::new(MemoryStore::shared().clone()), None),
        _ => return None,
    };
    Some((StoreCase { store, root, put: writer(name), many: 100_000, lists: true }, OwnFolder(folder)))
}

fn writer(name: &str) -> PutObject {
    if name == "memory" {
        return Box::new(|name, bytes| MemoryStore::shared().put(name, bytes.to_vec()));
    }
    Box::new(|name, bytes| {
        let path = Path::new(name);
        // If nothing was written, the suite will notice.
        let _ = path.parent().map(std::fs::create_dir_all);
        let _ = std::fs::write(path, bytes);
    })
}
