//! Truncated and damaged files: an error or pixels, never a panic, and both backends agree.

use turbojpeg_sys as tj;

use super::samples::{Random, Sample, decode, full, random_region};
use crate::{Backend, Decoder, Error, Output, Region, Request, Scale, read_header};

/// Mostly full size, where most of the code is.
const SCALES: [Scale; 8] = {
    let (full, half, quarter, eighth) = (Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth);
    [full, full, full, full, full, half, quarter, eighth]
};

#[test]
fn truncation_is_an_error() {
    for subsampling in [tj::TJSAMP_TJSAMP_444, tj::TJSAMP_TJSAMP_420, tj::TJSAMP_TJSAMP_GRAY] {
        for progressive in [false, true] {
            let file = Sample { subsampling, progressive, noise: 80, ..Sample::default() }.encode();
            let header = read_header(&file).unwrap();
            for backend in [Backend::Auto, Backend::Turbo] {
                let mut decoder = Decoder::new().unwrap();
                decoder.set_backend(backend);
                let region = Region::whole(&header, Scale::Full);
                let request = Request { scale: Scale::Full, region, output: Output::Rgb };
                for part in 0..16 {
                    let cut = &file[..file.len() * part / 16];
                    let result = decode(&mut decoder, cut, &request);
                    assert!(result.is_err(), "{part}/16 of {subsampling} {backend:?}");
                    if part > 9 && !progressive {
                        assert_eq!(result, Err(Error::Truncated));
                    }
                }
                // Only the end marker is missing: every pixel is there.
                let result = decode(&mut decoder, &file[..file.len() - 2], &request);
                if progressive {
                    assert_eq!(result, Err(Error::Truncated));
                } else {
                    assert!(result.unwrap() == full(&file, Scale::Full, Output::Rgb).unwrap());
                }
            }
        }
    }
}

/// Files with flaws that libjpeg warns about before it comes to the pixels.
fn flawed(file: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut revision = file.to_vec();
    assert_eq!(&file[2..11], b"\xff\xe0\x00\x10JFIF\0");
    revision[11] = 2;
    let mut stray = file.to_vec();
    drop(stray.splice(20..20, *b"\xff\x00stray"));
    let mut adobe = file.to_vec();
    drop(adobe.splice(2..20, *b"\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x07"));
    vec![("revision", revision), ("stray", stray), ("adobe", adobe)]
}

#[test]
fn truncation_is_not_hidden_by_another_warning() {
    for subsampling in [tj::TJSAMP_TJSAMP_420, tj::TJSAMP_TJSAMP_GRAY] {
        for progressive in [false, true] {
            let file = Sample { subsampling, progressive, noise: 80, ..Sample::default() }.encode();
            let expected = full(&file, Scale::Full, Output::Rgb).unwrap();
            for (flaw, file) in flawed(&file) {
                let region = Region::whole(&read_header(&file).unwrap(), Scale::Full);
                let request = Request { scale: Scale::Full, region, output: Output::Rgb };
                for backend in [Backend::Auto, Backend::Turbo] {
                    let mut decoder = Decoder::new().unwrap();
                    decoder.set_backend(backend);
                    let what = format!("{flaw} {subsampling} {progressive} {backend:?}");
                    // The flaw alone is harmless.
                    assert!(decode(&mut decoder, &file, &request).unwrap() == expected, "{what}");
                    for part in 10..16 {
                        let cut = &file[..file.len() * part / 16];
                        assert_eq!(
                            decode(&mut decoder, cut, &request),
                            Err(Error::Truncated),
                            "{part}/16 of {what}"
                        );
                    }
                    let unended = decode(&mut decoder, &file[..file.len() - 2], &request);
                    if progressive {
                        assert_eq!(unended, Err(Error::Truncated), "{what}");
                    } else {
                        assert!(unended.unwrap() == expected, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn damage_does_not_hide_truncation_either() {
    let file = Sample { noise: 80, ..Sample::default() }.encode();
    let region = Region::whole(&read_header(&file).unwrap(), Scale::Full);
    let request = Request { scale: Scale::Full, region, output: Output::Rgb };
    let mut random = Random::new(5);
    let mut decoder = Decoder::new().unwrap();
    for _ in 0..300 {
        let mut broken = file[..file.len() * 3 / 4].to_vec();
        let at = broken.len() / 2 + random.below(broken.len() as u32 / 4) as usize;
        broken[at] = random.below(255) as u8;
        assert!(decode(&mut decoder, &broken, &request).is_err(), "byte {at}");
    }
}

#[test]
fn rubbish_after_the_image_is_ignored() {
    let file = Sample::default().encode();
    let expected = full(&file, Scale::Full, Output::Rgb).unwrap();
    let mut longer = file.clone();
    longer.extend(b"rubbish \xff\xd8\xff\x00\xff");
    let mut stray = file[..file.len() - 2].to_vec();
    stray.extend(b"\x00\x00stray\xff\xd9");
    for file in [longer, stray] {
        for backend in [Backend::Auto, Backend::Turbo] {
            let mut decoder = Decoder::new().unwrap();
            decoder.set_backend(backend);
            let region = Region::whole(&read_header(&file).unwrap(), Scale::Full);
            let request = Request { scale: Scale::Full, region, output: Output::Rgb };
            assert!(decode(&mut decoder, &file, &request).unwrap() == expected);
        }
    }
}

#[test]
fn mutations_never_panic_and_backends_agree() {
    let mut random = Random::new(11);
    let mut ours = Decoder::new().unwrap();
    let mut turbo = Decoder::new().unwrap();
    turbo.set_backend(Backend::Turbo);
    let mut decoded = 0;
    for round in 0..100 {
        let mut sample = Sample::random(&mut random);
        sample.size = (1 + random.below(160), 1 + random.below(120));
        let file = sample.encode();
        for _ in 0..80 {
            let mut broken = file.clone();
            // Mostly inside the entropy-coded data, where a flip is least likely to be detected at once.
            let from = if random.below(4) == 0 { 2 } else { file.len() as u32 / 2 };
            for _ in 0..1 + random.below(3) {
                let at = (from + random.below(file.len() as u32 - from)) as usize;
                match random.below(4) {
                    0 => broken[at] ^= 1 << random.below(8),
                    1 => broken[at] = 0xFF,
                    2 => broken[at] = random.below(256) as u8,
                    _ => drop(broken.splice(at..at, [random.below(256) as u8])),
                }
            }
            let Ok(header) = read_header(&broken) else { continue };
            if u64::from(header.width) * u64::from(header.height) > 1 << 20 {
                continue;
            }
            let scale = SCALES[random.below(8) as usize];
            let whole = Region::whole(&header, scale);
            let region = if random.below(2) == 0 {
                whole
            } else {
                random_region(&mut random, whole.width, whole.height)
            };
            let request = Request { scale, region, output: Output::Rgb };
            let reference = decode(&mut turbo, &broken, &request);
            let result = decode(&mut ours, &broken, &request);
            match (&reference, &result) {
                (Ok(reference), Ok(result)) => {
                    assert!(reference == result, "round {round}: {sample:?} {region:?}");
                    decoded += 1;
                }
                // Damage after the region is not detected if nothing after it is needed.
                (Err(_), Ok(_)) => assert!(region != whole, "round {round}: {sample:?}"),
                (Ok(_), Err(error)) => panic!("round {round}: {error} {sample:?} {region:?}"),
                (Err(_), Err(_)) => {}
            }
        }
    }
    assert!(decoded > 1000, "only {decoded} damaged files could be decoded at all");
}

#[test]
fn no_file_borrows_the_tables_of_another() {
    for (progressive, cut) in [(false, 0xDB), (false, 0xC4), (true, 0xDB), (true, 0xC4)] {
        let whole = Sample { progressive, ..Sample::default() }.encode();
        // Without its first segment of that kind.
        let at = whole.windows(2).position(|pair| pair == [0xFF, cut]).unwrap();
        let length = usize::from(u16::from_be_bytes([whole[at + 2], whole[at + 3]]));
        let mut lacking = whole.clone();
        lacking.drain(at..at + 2 + length);
        let region = Region::whole(&read_header(&whole).unwrap(), Scale::Full);
        let request = Request { scale: Scale::Full, region, output: Output::Rgb };
        for backend in [Backend::Auto, Backend::Turbo] {
            let mut decoder = Decoder::new().unwrap();
            decoder.set_backend(backend);
            let alone = decode(&mut decoder, &lacking, &request);
            decode(&mut decoder, &whole, &request).unwrap();
            assert!(alone == decode(&mut decoder, &lacking, &request), "{progressive} {cut:#x} {backend:?}");
        }
    }
}
