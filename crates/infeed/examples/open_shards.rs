//! Measures opening a source of many shards: seconds per step, bytes of memory per shard, open files.
//!
//! `cargo run --release -p infeed --example open_shards -- [SHARDS] [ROWS]`
//!
//! Makes SHARDS tars (100,000) of ROWS rows (3) with two small fields in the system's temporary folder, opens them
//! without a saved index and then twice with one, and removes them. The page cache is warm: the costs are those of
//! infeed and of the system calls, not of a disk.
#![allow(clippy::print_stdout)]

use infeed::{
    Recipe,
    format::{IndexCache, TarFormat, detect},
    open,
    read::StoreSource,
    store::LocalStore,
};
use infeed_core::{Format, Shards, Source, Store};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    error::Error,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Counts the bytes that are allocated now, and their maximum.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system's allocator unchanged; counting does not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`, and all memory comes from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Key length and number of fields of each row, in the tars made here.
const KEY: usize = 9;
const FIELDS: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut number = |otherwise| args.next().map_or(Ok(otherwise), |text| text.parse::<usize>());
    let (shards, rows) = (number(100_000)?, number(3)?);
    let folder = tempfile::tempdir()?;
    let start = Instant::now();
    make(folder.path(), shards, rows)?;
    println!("{shards} shards of {rows} rows made in {:.1} s", start.elapsed().as_secs_f64());
    let root = folder.path().to_str().ok_or("the temporary folder's name is not UTF-8")?;
    let index = format!("{root}/index");
    for form in [format!("{root}/train-*.tar"), format!("{root}/train-{{000000..{:06}}}.tar", shards - 1)] {
        println!("\n{}", form.strip_prefix(root).unwrap_or(&form));
        for round in ["no index", "saved", "saved"] {
            print!("  {round:<9}");
            steps(&form, &index, shards, rows)?;
        }
        std::fs::remove_dir_all(&index)?;
    }
    println!();
    for round in ["no index", "saved", "saved"] {
        let recipe = Recipe::from_json(
            &serde_json::json!({"source": {"paths": [root], "args": {"index": index}}}).to_string(),
        )?;
        let start = Instant::now();
        let plan = open(recipe)?;
        let rows = plan.source.rows();
        println!("  open(folder), {round}: {:.3} s, {rows} rows", start.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Opens the shards step by step.
fn steps(form: &str, index: &str, shards: usize, rows: usize) -> Result<(), Box<dyn Error>> {
    let (live, mut clock) = (LIVE.load(Ordering::Relaxed), Instant::now());
    MOST.store(live, Ordering::Relaxed);
    let mut total = 0.0;
    let mut lap = |what: &str| {
        let took = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        total += took;
        print!(" {what} {took:.3}");
        total
    };
    let store = Arc::new(LocalStore::new());
    let found = detect(&*store, &[form.to_owned()])?.found;
    let names: Vec<String> = found.iter().map(|found| found.name().to_owned()).collect();
    lap("find and detect");
    let table = Shards::new(&store.stat(&names)?)?;
    drop(names);
    lap("stat");
    let format = TarFormat { lenient: false, cache: IndexCache::Folder(index.into()) };
    let indices = format.indices(&*store, &table, 4)?.ok_or("tars have sets")?;
    lap("index");
    let source = StoreSource::over(Arc::clone(&store) as _, "tar", table, indices)?;
    let total = lap("join");
    drop(format);
    let held = LIVE.load(Ordering::Relaxed) - live;
    let most = MOST.load(Ordering::Relaxed) - live;
    let per_row = rows * (4 + 4 + KEY + FIELDS * 10);
    let each = held as f64 / shards as f64;
    println!(
        " = {total:.3} s; held {each:.1} B/shard, {:.1} without rows; at most {:.0}; open files {}",
        each - per_row as f64,
        most as f64 / shards as f64,
        std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
    );
    look_up(&source)
}

/// Measures lookups far into the source, and how many files stay open after reading rows from all over it.
fn look_up(source: &StoreSource) -> Result<(), Box<dyn Error>> {
    let (rows, fields) = (source.rows(), [Arc::from("cls"), Arc::from("txt")]);
    let picks: Vec<u64> = (0..100_000).map(|i| i * 7_919_337 % rows).collect();
    let start = Instant::now();
    let weight: u64 = picks.iter().map(|row| source.row_bytes(*row, &fields)).sum();
    let weighing = start.elapsed().as_secs_f64() * 1e9 / picks.len() as f64;
    let start = Instant::now();
    let keys: usize = picks.iter().map(|row| source.key(*row).len() + source.shard_of(*row).len()).sum();
    let naming = start.elapsed().as_secs_f64() * 1e9 / picks.len() as f64;
    for group in picks[..2000].chunks(16) {
        source.fetch(group, &fields)?;
    }
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    println!(
        "            weight {weighing:.0} ns, key and shard {naming:.0} ns ({weight}, {keys}); open files after 2000 rows {files}"
    );
    Ok(())
}

/// Makes the tars.
fn make(folder: &Path, shards: usize, rows: usize) -> Result<(), Box<dyn Error>> {
    for shard in 0..shards {
        let mut tar = tar::Builder::new(Vec::new());
        for row in 0..rows {
            for (field, data) in [("cls", "7"), ("txt", "a few words")] {
                let mut header = tar::Header::new_ustar();
                header.set_size(data.len() as u64);
                tar.append_data(
                    &mut header,
                    format!("{:0KEY$}.{field}", shard * rows + row),
                    data.as_bytes(),
                )?;
            }
        }
        std::fs::write(folder.join(format!("train-{shard:06}.tar")), tar.into_inner()?)?;
    }
    Ok(())
}
