//! How fast chunks are read and decoded: `compare FILE DATASET THREADS ROUNDS` prints GB of decoded bytes per second, the best
//! of all rounds: by the clock, and by the processor time of all threads (which a busy machine does not change).
//! `benches/hdf5_chunks.py` runs it in turns with h5py.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use bytes::Bytes;
use infeed_hdf5::{ByteSource, File, Limits, ReadError, Slab};
use std::{
    env, fs,
    ops::Range,
    os::unix::fs::FileExt,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

/// A local file, read with `pread`.
struct Local(fs::File, u64);

impl ByteSource for Local {
    fn size(&self) -> u64 {
        self.1
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let mut out = vec![0; (range.end - range.start) as usize];
        self.0.read_exact_at(&mut out, range.start)?;
        Ok(out.into())
    }
}

/// Passes whose processor time is taken together.
const MANY: usize = 8;

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    let [path, dataset, threads, rounds] = &args[..] else { panic!("compare FILE DATASET THREADS ROUNDS") };
    let (threads, rounds): (usize, usize) = (threads.parse().unwrap(), rounds.parse().unwrap());
    let local = fs::File::open(path).unwrap();
    let len = local.metadata().unwrap().len();
    let file = File::open(Arc::new(Local(local, len)), Limits::default()).unwrap();
    let reader = file.reader(file.dataset(dataset).unwrap(), "").unwrap();
    let slab = Slab::all(&reader.dataset().space.shape);
    let mut out = vec![0u8; reader.bytes(&slab).unwrap()];
    // One pass over the data: each thread reads its band `times` times. Gives the processor time of all threads.
    let mut pass = |times: usize| {
        let worked = AtomicU64::new(0);
        let mut rest = out.as_mut_slice();
        std::thread::scope(|scope| {
            for (band, range) in reader.bands(&slab, threads) {
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
                rest = behind;
                let (file, reader, worked) = (&file, &reader, &worked);
                scope.spawn(move || {
                    let before = processor_time();
                    (0..times).for_each(|_| file.read_slab(reader, &band, own).unwrap());
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
