//! Floors: what this machine does without a loader.
//!
//!     floor jpeg DIR THREADS     libjpeg-turbo, full decode to RGB of every JPEG in DIR: images/s
//!     floor memcpy THREADS       copying 64 MiB buffers: GB/s, counted once (not read plus write)
//!
//! One JSON line, best of several passes. Files are in memory and every buffer is warm before the clock starts;
//! each thread is pinned to a processor of its own where the system allows it.

use std::{
    ffi::c_int,
    fs, io,
    path::Path,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use turbojpeg_sys as tj;

const SECONDS: f64 = 1.0;
const PASSES: usize = 4;
const BUFFER: usize = 64 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["jpeg", dir, threads] => jpeg(Path::new(dir), threads.parse()?)?,
        ["memcpy", threads] => memcpy(threads.parse()?),
        _ => return Err("usage: floor jpeg DIR THREADS | floor memcpy THREADS".into()),
    }
    Ok(())
}

/// Decode everything in full, threads taking files one by one, for about a second per pass.
fn jpeg(dir: &Path, threads: usize) -> io::Result<()> {
    let files = read_all(dir)?;
    let files: Vec<Vec<u8>> = files.into_iter().filter(|f| Decoder::new().decode(f)).collect();
    let rate = best(|| {
        let next = AtomicUsize::new(0);
        let elapsed = on_threads(threads, |ready| {
            let mut decoder = Decoder::new();
            files.iter().take(32).for_each(|f| {
                decoder.decode(f);
            });
            let begun = ready();
            while begun.elapsed().as_secs_f64() < SECONDS {
                let number = next.fetch_add(1, Ordering::Relaxed);
                decoder.decode(&files[number % files.len()]);
            }
        });
        next.load(Ordering::Relaxed) as f64 / elapsed
    });
    println!(r#"{{"floor":"jpeg","threads":{threads},"files":{},"rate":{rate:.1}}}"#, files.len());
    Ok(())
}

/// Copy from one warm buffer to another, a pair per thread.
fn memcpy(threads: usize) {
    let rate = best(|| {
        let copies = AtomicUsize::new(0);
        let elapsed = on_threads(threads, |ready| {
            let (source, mut target) = (vec![1_u8; BUFFER], vec![2_u8; BUFFER]);
            target.copy_from_slice(&source);
            let begun = ready();
            while begun.elapsed().as_secs_f64() < SECONDS {
                target.copy_from_slice(std::hint::black_box(&source));
                std::hint::black_box(&mut target);
                copies.fetch_add(1, Ordering::Relaxed);
            }
        });
        copies.load(Ordering::Relaxed) as f64 * BUFFER as f64 / elapsed / 1e9
    });
    println!(r#"{{"floor":"memcpy","threads":{threads},"rate":{rate:.2}}}"#);
}

/// The best of a few passes: other programs can only make a pass slower.
fn best(mut pass: impl FnMut() -> f64) -> f64 {
    (0..PASSES).map(|_| pass()).fold(0.0, f64::max)
}

/// Run `work` on pinned threads; each calls `ready` when it is warm. Seconds from then until the last one ends.
fn on_threads(threads: usize, work: impl Fn(&dyn Fn() -> Instant) + Sync) -> f64 {
    let barrier = Barrier::new(threads);
    let cpus = allowed_cpus();
    let spans: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|number| {
                let (barrier, work, cpu) = (&barrier, &work, cpus.get(number).copied());
                scope.spawn(move || {
                    if let Some(cpu) = cpu {
                        pin(cpu);
                    }
                    let begun = std::cell::Cell::new(Instant::now());
                    work(&|| {
                        barrier.wait();
                        begun.set(Instant::now());
                        begun.get()
                    });
                    (begun.get(), Instant::now())
                })
            })
            .collect();
        handles.into_iter().map(|h| h.join().expect("a floor thread panicked")).collect()
    });
    let begun = spans.iter().map(|s| s.0).min().expect("at least one thread");
    let ended = spans.iter().map(|s| s.1).max().expect("at least one thread");
    (ended - begun).as_secs_f64()
}

fn read_all(dir: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths: Vec<_> = fs::read_dir(dir)?.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    paths.retain(|p| {
        p.extension().is_some_and(|e| e.eq_ignore_ascii_case("jpg") || e.eq_ignore_ascii_case("jpeg"))
    });
    paths.sort();
    if paths.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("no JPEG in {}", dir.display())));
    }
    paths.iter().map(fs::read).collect()
}

/// One libjpeg-turbo decompressor and the pixels it writes, both reused for every file.
struct Decoder {
    handle: tj::tjhandle,
    pixels: Vec<u8>,
}

impl Decoder {
    fn new() -> Self {
        // SAFETY: takes no pointers; the handle is checked below and freed in `drop`.
        let handle = unsafe { tj::tj3Init(tj::TJINIT_TJINIT_DECOMPRESS as c_int) };
        assert!(!handle.is_null(), "libjpeg-turbo could not be initialised");
        Self { handle, pixels: Vec::new() }
    }

    /// Whether the file was decoded without a warning; others are left out of the measurement.
    fn decode(&mut self, file: &[u8]) -> bool {
        // SAFETY: `file` is valid for its length; `pixels` is grown to width * height * 3 before it is written to,
        // which is what a pitch of 0 and RGB need.
        unsafe {
            if tj::tj3DecompressHeader(self.handle, file.as_ptr(), file.len() as _) != 0 {
                return false;
            }
            let width = tj::tj3Get(self.handle, tj::TJPARAM_TJPARAM_JPEGWIDTH as c_int) as usize;
            let height = tj::tj3Get(self.handle, tj::TJPARAM_TJPARAM_JPEGHEIGHT as c_int) as usize;
            if self.pixels.len() < width * height * 3 {
                self.pixels.resize(width * height * 3, 0);
            }
            let rgb = tj::TJPF_TJPF_RGB as c_int;
            tj::tj3Decompress8(self.handle, file.as_ptr(), file.len() as _, self.pixels.as_mut_ptr(), 0, rgb)
                == 0
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the handle came from `tj3Init` and is not used again.
        unsafe { tj::tj3Destroy(self.handle) };
    }
}

/// The processors this process may use.
fn allowed_cpus() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is a valid empty set, and the size given is its own.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of_val(&set), &mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

fn pin(cpu: usize) {
    // SAFETY: as above; `cpu` came from the allowed set, so it is within its bounds. Failure only means not pinned.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}
