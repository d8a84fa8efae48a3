//! Compares this crate's decoder with libjpeg-turbo on a folder of JPEG files, on one thread.
//!
//! `cargo run --release -p infeed-jpeg --example compare_jpeg -- FOLDER [PASSES [full|region|half|quarter]]`
//!
//! Every file is decoded by both decoders in turn, and the best time of each for each file counts, so that
//! a busy machine affects neither.

use std::time::{Duration, Instant};

use infeed_jpeg::{Backend, Decoder, Header, Output, Region, Request, Scale, read_header};

/// Decodes with both and fails if a single byte differs.
fn verify(contestants: [&mut Decoder; 2], job: &Job) -> Result<(), Box<dyn std::error::Error>> {
    let stride = job.request.region.width as usize * job.request.output.channels();
    let mut images = Vec::new();
    for decoder in contestants {
        let mut out = vec![0; stride * job.request.region.height as usize];
        decoder.decode(&job.bytes, &job.header, &job.request, &mut out, stride)?;
        images.push(out);
    }
    if images[0] != images[1] {
        return Err(format!("the decoders disagree about {:?} of {:?}", job.request, job.header).into());
    }
    Ok(())
}

/// A small deterministic generator.
struct Random(u64);

impl Random {
    /// A number in `0.0..1.0`.
    fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A box as torchvision's RandomResizedCrop draws it: area 0.08 to 1, aspect ratio 3/4 to 4/3.
    fn crop(&mut self, header: &Header) -> Region {
        let (width, height) = (f64::from(header.width), f64::from(header.height));
        for _ in 0..10 {
            let area = width * height * (0.08 + 0.92 * self.unit());
            let (low, high) = (0.75_f64.ln(), (4.0 / 3.0_f64).ln());
            let ratio = (low + (high - low) * self.unit()).exp();
            let (w, h) = ((area * ratio).sqrt().round() as u32, (area / ratio).sqrt().round() as u32);
            if (1..=header.width).contains(&w) && (1..=header.height).contains(&h) {
                let x = (self.unit() * f64::from(header.width - w + 1)) as u32;
                let y = (self.unit() * f64::from(header.height - h + 1)) as u32;
                return Region { x, y, width: w, height: h };
            }
        }
        Region::whole(header, Scale::Full)
    }
}

struct Job {
    bytes: Vec<u8>,
    header: Header,
    request: Request,
}

fn time(decoder: &mut Decoder, job: &Job, out: &mut Vec<u8>) -> Result<Duration, infeed_jpeg::Error> {
    let stride = job.request.region.width as usize * job.request.output.channels();
    let needed = stride * job.request.region.height as usize;
    if out.len() < needed {
        out.resize(needed, 0);
    }
    let start = Instant::now();
    decoder.decode(&job.bytes, &job.header, &job.request, out, stride)?;
    Ok(start.elapsed())
}

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: compare_jpeg FOLDER [PASSES]")?;
    let passes: usize = arguments.next().map_or(Ok(15), |passes| passes.parse())?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let bytes = std::fs::read(entry?.path())?;
        if let Ok(header) = read_header(&bytes) {
            files.push((bytes, header));
        }
    }
    let mut random = Random(0x1234_5678_9ABC_DEF1);
    let jobs = |region: &mut dyn FnMut(&Header) -> Region, scale: Scale| -> Vec<Job> {
        let job = |(bytes, header): &(Vec<u8>, Header)| {
            let request = Request { scale, region: region(header), output: Output::Rgb };
            Job { bytes: bytes.clone(), header: *header, request }
        };
        files.iter().map(job).collect()
    };
    let full = jobs(&mut |header| Region::whole(header, Scale::Full), Scale::Full);
    let crops = jobs(&mut |header| random.crop(header), Scale::Full);
    let half = jobs(&mut |header| Region::whole(header, Scale::Half), Scale::Half);
    let quarter = jobs(&mut |header| Region::whole(header, Scale::Quarter), Scale::Quarter);

    let mut turbo = Decoder::new()?;
    turbo.set_backend(Backend::Turbo);
    let mut ours = Decoder::new()?;
    let mut out = Vec::new();
    println!(
        "{} files, best of {passes} alternating turns per file, one thread, all bytes equal",
        files.len()
    );
    let only = arguments.next();
    for (name, jobs) in [("full", &full), ("region", &crops), ("half", &half), ("quarter", &quarter)] {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        for job in jobs {
            verify([&mut turbo, &mut ours], job)?;
        }
        // Whole rounds over the folder, so that no decoder gets a file or a table that it has just seen.
        let mut least = vec![[Duration::MAX; 2]; jobs.len()];
        for _ in 0..passes {
            for (job, least) in jobs.iter().zip(&mut least) {
                least[0] = least[0].min(time(&mut turbo, job, &mut out)?);
                least[1] = least[1].min(time(&mut ours, job, &mut out)?);
            }
        }
        let best = [0, 1].map(|i: usize| least.iter().map(|least| least[i]).sum::<Duration>());
        let rate = best.map(|time| jobs.len() as f64 / time.as_secs_f64());
        println!(
            "{name:8} libjpeg-turbo {:7.1} images/s   ours {:7.1} images/s   ratio {:.3}",
            rate[0],
            rate[1],
            rate[1] / rate[0]
        );
    }
    Ok(())
}
