//! A region is the same bytes as the crop of the whole, at every scale, for every kind of file.

use turbojpeg_sys as tj;

use super::samples::{Random, SIZES, SUBSAMPLINGS, Sample, cut, decode, full, random_region};
use crate::{Backend, Color, Decoder, Error, Output, Region, Request, Scale, read_header};

const SCALES: [Scale; 4] = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];

/// Compares the whole and some random regions, by both backends, against libjpeg-turbo's full decode.
fn compare(decoder: &mut Decoder, random: &mut Random, sample: &Sample, regions: usize) {
    let file = sample.encode();
    let header = read_header(&file).unwrap();
    for scale in SCALES {
        for output in [Output::Rgb, Output::Gray] {
            let expected = full(&file, scale, output).unwrap();
            let whole = Region::whole(&header, scale);
            for index in 0..=regions {
                let region =
                    if index == 0 { whole } else { random_region(random, whole.width, whole.height) };
                let inside = cut(&expected, whole.width, output.channels(), &region);
                for backend in [Backend::Auto, Backend::Turbo] {
                    decoder.set_backend(backend);
                    let pixels = decode(decoder, &file, &Request { scale, region, output }).unwrap();
                    assert!(pixels == inside, "{sample:?} {scale:?} {output:?} {region:?} {backend:?}");
                }
            }
        }
    }
}

#[test]
fn every_subsampling_and_size() {
    let mut random = Random::new(1);
    let mut decoder = Decoder::new().unwrap();
    for size in SIZES {
        for subsampling in SUBSAMPLINGS {
            for restart in [(0, 0), (3, 0), (0, 1)] {
                for quality in [20, 75, 98] {
                    let optimize = quality == 75;
                    let sample = Sample {
                        size,
                        subsampling,
                        quality,
                        restart,
                        optimize,
                        seed: 3,
                        ..Sample::default()
                    };
                    compare(&mut decoder, &mut random, &sample, 3);
                }
            }
            let sample = Sample { size, subsampling, progressive: true, ..Sample::default() };
            compare(&mut decoder, &mut random, &sample, 2);
        }
    }
}

#[test]
fn random_files_and_regions() {
    let mut random = Random::new(2);
    let mut decoder = Decoder::new().unwrap();
    for _ in 0..400 {
        let sample = Sample::random(&mut random);
        compare(&mut decoder, &mut random, &sample, 4);
    }
}

#[test]
fn four_inks() {
    let mut random = Random::new(3);
    let mut decoder = Decoder::new().unwrap();
    for subsampling in [tj::TJSAMP_TJSAMP_444, tj::TJSAMP_TJSAMP_420] {
        let sample = Sample { cmyk: true, subsampling, ..Sample::default() };
        assert_eq!(read_header(&sample.encode()).unwrap().color, Color::Ycck);
        compare(&mut decoder, &mut random, &sample, 5);
    }
}

#[test]
fn rows_keep_their_distance() {
    let file = Sample::default().encode();
    let header = read_header(&file).unwrap();
    for (backend, wide) in [(Backend::Auto, true), (Backend::Turbo, true), (Backend::Auto, false)] {
        let mut decoder = Decoder::new().unwrap();
        decoder.set_backend(backend);
        let whole = Region::whole(&header, Scale::Full);
        let region = if wide { whole } else { Region { x: 11, y: 9, width: 40, height: 30 } };
        let request = Request { scale: Scale::Full, region, output: Output::Rgb };
        let (row, stride) = (region.width as usize * 3, region.width as usize * 3 + 13);
        let mut out = vec![0xEE; stride * (region.height as usize - 1) + row];
        decoder.decode(&file, &header, &request, &mut out, stride).unwrap();
        let expected = cut(&full(&file, Scale::Full, Output::Rgb).unwrap(), header.width, 3, &region);
        for (out, expected) in out.chunks(stride).zip(expected.chunks_exact(row)) {
            assert!(out[..row] == *expected);
            assert!(out[row..].iter().all(|&byte| byte == 0xEE));
        }
    }
}

#[test]
fn impossible_requests_are_refused() {
    let file = Sample::default().encode();
    let header = read_header(&file).unwrap();
    let mut decoder = Decoder::new().unwrap();
    let whole = Region::whole(&header, Scale::Full);
    let mut out = vec![0; 97 * 61 * 3];
    let bad = [
        (Region { width: 0, ..whole }, 291, 0),
        (Region { height: 0, ..whole }, 291, 0),
        (Region { x: 1, ..whole }, 291, 0),
        (Region { y: u32::MAX, ..whole }, 291, 0),
        (whole, 290, 0),
        (whole, usize::MAX, 0),
        (whole, 291, 1),
    ];
    for (region, stride, short) in bad {
        let request = Request { scale: Scale::Full, region, output: Output::Rgb };
        let end = out.len() - short;
        let result = decoder.decode(&file, &header, &request, &mut out[..end], stride);
        assert!(matches!(result, Err(Error::BadRequest(_))), "{region:?} {stride}");
    }
    let other = Sample { size: (98, 61), ..Sample::default() }.encode();
    let request = Request { scale: Scale::Full, region: whole, output: Output::Rgb };
    assert!(decoder.decode(&other, &header, &request, &mut out, 291).is_err());
}

#[test]
fn a_decoder_can_move_to_another_thread() {
    fn movable<T: Send>(_: &T) {}
    movable(&Decoder::new().unwrap());
}
