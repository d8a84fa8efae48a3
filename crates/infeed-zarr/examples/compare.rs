//! How fast chunks are read and decoded: `compare FOLDER ARRAY THREADS ROUNDS` prints GB of decoded bytes per second, the best
//! of all rounds: by the clock, and by the processor time of all threads (which a busy machine does not change).
//! `benches/zarr_chunks.py` runs it in turns with zarr-python.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_zarr::{Limits, Objects, ReadError, Result, Slab, Span, Tree};
use std::{
    env, fs, io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// A folder, read with `pread`.
struct Folder(PathBuf);

impl Folder {
    fn open(&self, key: &str) -> Result<Option<fs::File>, ReadError> {
        match fs::File::open(self.0.join(key)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Objects for Folder {
    fn size(&self, key: &str) -> Result<Option<u64>, ReadError> {
        Ok(self.open(key)?.map(|file| file.metadata()).transpose()?.map(|found| found.len()))
    }

    fn read(&self, key: &str, span: &Span) -> Result<Option<Bytes>, ReadError> {
        let Some(file) = self.open(key)? else { return Ok(None) };
        let range = match span {
            Span::Range(range) => range.clone(),
            Span::All => 0..file.metadata()?.len(),
            Span::Last(len) => {
                let size = file.metadata()?.len();
                size.checked_sub(*len).ok_or("too short")?..size
            }
        };
        let mut out = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut out, range.start)?;
        Ok(Some(out.into()))
    }

    fn children(&self, _: &str) -> Result<Vec<String>, ReadError> {
        Ok(Vec::new())
    }
}

/// Passes whose processor time is taken together.
const MANY: usize = 8;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [path, array, threads, rounds] = &args[..] else { panic!("compare FOLDER ARRAY THREADS ROUNDS") };
    let (threads, rounds): (usize, usize) = (threads.parse().unwrap(), rounds.parse().unwrap());
    let tree = Tree::open(Arc::new(Folder(path.into())), "", Limits::default()).unwrap();
    let reader = tree.reader(tree.array(array).unwrap(), "").unwrap();
    let slab = Slab::all(&reader.array().shape);
    let mut out = vec![0u8; reader.bytes(&slab).unwrap()];
    // One pass over the data: each thread reads its band `times` times. Gives the processor time of all threads.
    let mut pass = |times: usize| {
        let worked = AtomicU64::new(0);
        let mut rest = out.as_mut_slice();
        std::thread::scope(|scope| {
            for (band, range) in reader.bands(&slab, threads) {
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
                rest = behind;
                let (tree, reader, worked) = (&tree, &reader, &worked);
                scope.spawn(move || {
                    let before = processor_time();
                    (0..times).for_each(|_| tree.read_slab(reader, &band, own).unwrap());
                    worked.fetch_add(processor_time() - before, Ordering::Relaxed);
                });
            }
        });
        worked.into_inner() as f64 / 1e9
    };
    let clock = |_| {
        let begun = Instant::now();
        pass(1);
        begun.elapsed().as_secs_f64()
    };
    let best = (0..rounds).map(clock).fold(f64::MAX, f64::min);
    // The system counts processor time in steps of milliseconds: only many passes tell it.
    let least = pass(MANY) / MANY as f64;
    let sum = out.iter().step_by(4096).fold(0u64, |sum, &byte| sum + u64::from(byte));
    let speed = |seconds: f64| out.len() as f64 / seconds / 1e9;
    println!("{:.4} {:.4} {sum}", speed(best), speed(least));
}

/// Nanoseconds that this thread has had a processor.
fn processor_time() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
