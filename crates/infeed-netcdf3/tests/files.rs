//! Files that netCDF4 wrote, as they are, cut, and changed. `golden/make.py` makes them.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use infeed_netcdf3::{Error, File, Limits, Result, Slab, Value, fuzz_netcdf3, is_netcdf3};
use std::{path::Path, sync::Arc};

const FILES: [(&str, u8); 3] = [("v1.nc", 1), ("v2.nc", 2), ("v5.nc", 5)];

fn golden(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}; golden/make.py makes it", path.display()))
}

fn open(data: Vec<u8>) -> Result<File> {
    File::open(Arc::new(Bytes::from(data)), Limits::small())
}

fn all(file: &File, name: &str) -> Result<Vec<u8>> {
    let variable = file.variable(name)?;
    let slab = Slab::all(&variable.shape);
    let mut out = vec![0xa5; file.plan(variable, &slab)?.bytes()];
    file.read_slab(variable, &slab, &mut out)?;
    Ok(out)
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !data.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn everything_is_what_netcdf4_wrote() {
    for (name, version) in FILES {
        let data = golden(name);
        assert!(is_netcdf3(&data));
        let file = open(data).unwrap();
        assert_eq!(file.version(), version);
        assert_eq!(file.attributes(), [("title".to_owned(), Value::Text("größe".to_owned()))]);
        let wide = file.variable("wide").unwrap();
        assert_eq!(
            (&wide.shape[..], &wide.dimensions[..]),
            (&[4, 5, 3][..], &["time", "x", "y"].map(String::from)[..])
        );
        assert_eq!(wide.attributes[1], ("valid_range".to_owned(), Value::Integers(vec![-3, 9])));
        assert_eq!(file.dimensions()[0].len, 4);
        let sums = String::from_utf8(golden("sums.txt")).unwrap();
        let lines: Vec<_> = sums.lines().filter_map(|line| line.strip_prefix(&format!("{name} "))).collect();
        assert_eq!(lines.len(), file.variables().len());
        for line in lines {
            let (variable, sum) = line.split_once(' ').unwrap();
            assert_eq!(format!("{:08x}", crc32(&all(&file, variable).unwrap())), sum, "{name} {variable}");
        }
    }
}

#[test]
fn boxes_and_cut_runs_are_equal_to_the_whole() {
    let data = Bytes::from(golden("v5.nc"));
    let whole = all(&open(data.to_vec()).unwrap(), "wide").unwrap();
    for run in [8, 40, 130, 1 << 20] {
        let mut limits = Limits::small();
        limits.max_run = run;
        let file = File::open(Arc::new(data.clone()), limits).unwrap();
        let variable = file.variable("wide").unwrap();
        let slab = Slab { start: vec![1, 2, 1], count: vec![3, 3, 2] };
        let mut out = vec![0; 3 * 3 * 2 * 8];
        file.read_slab(variable, &slab, &mut out).unwrap();
        for (at, element) in out.chunks(8).enumerate() {
            let place = ((1 + at / 6) * 15 + (2 + at / 2 % 3) * 3 + 1 + at % 2) * 8;
            assert_eq!(element, &whole[place..place + 8], "runs of {run}");
        }
        assert!(file.plan(variable, &Slab { start: vec![4, 0, 0], count: vec![1, 1, 1] }).is_err());
    }
}

#[test]
fn cuts_are_noticed() {
    for (name, _) in FILES {
        let data = golden(name);
        let wanted: Vec<_> = {
            let file = open(data.clone()).unwrap();
            file.variables().iter().map(|v| (v.name.clone(), all(&file, &v.name).unwrap())).collect()
        };
        for len in 0..data.len() {
            match open(data[..len].to_vec()) {
                Ok(file) => {
                    let mut read = 0;
                    for (variable, wanted) in &wanted {
                        match all(&file, variable) {
                            Ok(found) => read += usize::from(found == *wanted),
                            Err(Error::Truncated { .. }) => {}
                            Err(other) => panic!("{name} cut to {len}: {other}"),
                        }
                    }
                    // Only what fills up the last record may be missing.
                    assert!(read < wanted.len() || data.len() - len < 4, "{name} cut to {len}");
                }
                Err(Error::Truncated { .. } | Error::NotNetcdf3 | Error::Damaged { .. }) => {}
                Err(other) => panic!("{name} cut to {len}: {other}"),
            }
        }
    }
}

/// The environment variable `INFEED_MUTATIONS` asks for more.
#[test]
fn ten_thousand_changed_files() {
    let rounds = std::env::var("INFEED_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000);
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut below = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as usize % limit
    };
    let originals = FILES.map(|(name, _)| golden(name));
    let numbers =
        [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX >> 1, u64::MAX];
    for round in 0..rounds {
        let mut data = originals[round % 3].clone();
        for _ in 0..1 + below(3) {
            let at = below(data.len());
            if below(2) == 0 {
                data[at] = below(256) as u8;
            } else {
                let width = [1, 2, 4, 8][below(4)].min(data.len() - at);
                data[at..at + width]
                    .copy_from_slice(&numbers[below(numbers.len())].to_be_bytes()[8 - width..]);
            }
        }
        if std::panic::catch_unwind(|| fuzz_netcdf3(&data)).is_err() {
            panic!("round {round} breaks");
        }
    }
}

#[test]
fn limits_are_kept() {
    let mut limits = Limits::small();
    limits.max_header = 100;
    let error = File::open(Arc::new(Bytes::from(golden("v1.nc"))), limits).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "a header", .. } | Error::Damaged { .. }), "{error}");
    assert!(matches!(open(b"\x89HDF".to_vec()), Err(Error::NotNetcdf3)));
    assert!(open(golden("v1.nc")).unwrap().variable("nothing").unwrap_err().to_string().contains("wide"));
}
