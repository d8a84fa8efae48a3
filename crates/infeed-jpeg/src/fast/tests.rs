//! Compares each part of the fast decoder with a simpler version.

use super::block::{self, order};
use super::color;
use super::huffman::{Class, Table};
use super::upsample::{self, Direction, RowPair, Scratch};
use super::*;
use crate::tests::samples::{Random, SUBSAMPLINGS, Sample, full};
use crate::{Region, Request, Scale, read_header};

#[test]
fn coding_order_is_the_zigzag() {
    let start: Vec<usize> = (0..12).map(order).collect();
    assert_eq!(start, [0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25]);
    let mut all: Vec<usize> = (0..64).map(order).collect();
    assert_eq!(all[62..], [62, 63]);
    all.sort_unstable();
    assert!(all.into_iter().eq(0..64));
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[test]
fn colour_conversion_is_exact_for_every_colour() {
    if !simd_available() {
        return;
    }
    let y: Vec<u8> = (0..=255).collect();
    for cb in 0..=255_u8 {
        for cr in 0..=255_u8 {
            let (cbs, crs) = ([cb; 256], [cr; 256]);
            let (mut simd, mut plain) = ([0; 768], [0; 768]);
            color::row(&y, &cbs, &crs, &mut plain);
            // SAFETY: the CPU has the instructions.
            unsafe { color_avx2::row(&y, &cbs, &crs, &mut simd) };
            assert!(simd == plain, "{cb} {cr}");
        }
    }
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[test]
fn colour_conversion_of_every_width() {
    if !simd_available() {
        return;
    }
    let mut random = Random::new(5);
    let samples: Vec<u8> = (0..600).map(|_| random.below(256) as u8).collect();
    for width in 0..200 {
        let (y, cb, cr) = (&samples[..width], &samples[200..200 + width], &samples[400..400 + width]);
        let (mut simd, mut plain) = (vec![0; width * 3], vec![0; width * 3]);
        color::row(y, cb, cr, &mut plain);
        // SAFETY: the CPU has the instructions.
        unsafe { color_avx2::row(y, cb, cr, &mut simd) };
        assert!(simd == plain, "{width}");
    }
}

#[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
#[test]
fn transforms_agree_even_when_they_overflow() {
    if !simd_available() {
        return;
    }
    let mut random = Random::new(6);
    let (mut sound_blocks, mut unsound_blocks) = (0, 0);
    for round in 0..60_000 {
        // From a few small coefficients, as in photographs, to all of them at the limit of 16 bits.
        let most = [4, 30, 300, 2047, 65535][round % 5];
        let count = [1, 3, 10, 64][random.below(4) as usize];
        let mut coefficients = [[0_i16; 256]; 2];
        let mut steps = [[0_u16; 64]; 2];
        for (block, steps) in coefficients.iter_mut().zip(&mut steps) {
            for _ in 0..count {
                let value = random.below(most + 1) as i32 - (most / 2) as i32;
                block[random.below(64) as usize] = value as i16;
            }
            steps.fill_with(|| 1 + random.below(255) as u16);
        }
        let (mut simd, mut plain) = (vec![0; 16 * 8], vec![0; 16 * 8]);
        let sound = idct::block(&coefficients[0], &steps[0], &mut plain, 0, 16)
            & idct::block(&coefficients[1], &steps[1], &mut plain, 8, 16);
        let [a, b] = &coefficients;
        // SAFETY: the CPU has the instructions.
        let agreed = unsafe { idct_avx2::blocks([a, b], [&steps[0], &steps[1]], &mut simd, [0, 8], 16) };
        assert_eq!(sound, agreed);
        assert!(simd == plain, "round {round}");
        if sound {
            sound_blocks += 1;
        } else {
            unsound_blocks += 1;
        }
    }
    assert!(sound_blocks > 1000 && unsound_blocks > 1000);
}

#[test]
fn flat_blocks_are_a_shortcut_of_the_transform() {
    for first in -2048..2048_i16 {
        for step in [1, 2, 7, 16, 255_u16] {
            let (mut short, mut long) = ([0; 64], [0; 64]);
            let mut coefficients = [0; 256];
            coefficients[0] = first;
            let sound = idct::block(&coefficients, &[step; 64], &mut long, 0, 8);
            let flat = idct::flat::<8>(first, step, &mut short, 0, 8);
            // The shortcut may give up more easily, never less.
            assert!(sound || !flat);
            assert!(!flat || short == long, "{first} {step}");
        }
    }
}

/// Upsampling as the definition says: one output sample from at most four inputs.
fn upsampled(direction: Direction, rows: RowPair<'_>, x: usize) -> u8 {
    let at = |row: &[u8], x: isize| i32::from(row[x.clamp(0, row.len() as isize - 1) as usize]);
    let below = i32::from(rows.below);
    if direction == Direction::Down {
        return ((at(rows.near, x as isize) * 3 + at(rows.far, x as isize) + 1 + below) >> 2) as u8;
    }
    let near = (x / 2) as isize;
    let odd = x % 2 == 1;
    let far = if odd { near + 1 } else { near - 1 };
    if direction == Direction::Across {
        return ((at(rows.near, near) * 3 + at(rows.near, far) + 1 + i32::from(odd)) >> 2) as u8;
    }
    let column = |x: isize| at(rows.near, x) * 3 + at(rows.far, x);
    ((column(near) * 3 + column(far) + 8 - i32::from(odd)) >> 4) as u8
}

#[test]
fn upsampling_follows_its_definition() {
    let mut random = Random::new(8);
    let mut scratch = Scratch::default();
    for width in 1..150 {
        let near: Vec<u8> = (0..width).map(|_| random.below(256) as u8).collect();
        let far: Vec<u8> = (0..width).map(|_| random.below(256) as u8).collect();
        for direction in [Direction::Across, Direction::Down, Direction::Both] {
            for below in [false, true] {
                let rows = RowPair { near: &near, far: &far, below };
                let length = if direction == Direction::Down { width } else { width * 2 };
                let expected: Vec<u8> = (0..length).map(|x| upsampled(direction, rows, x)).collect();
                let mut plain = vec![0; length];
                upsample::row(direction, rows, &mut plain, &mut scratch);
                assert!(plain == expected, "{direction:?} {width}");
                #[cfg(all(target_arch = "x86_64", not(infeed_portable)))]
                if simd_available() {
                    let mut simd = vec![0; length];
                    // SAFETY: the CPU has the instructions.
                    unsafe { upsample::row_avx2(direction, rows, &mut simd, &mut scratch) };
                    assert!(simd == expected, "{direction:?} {width}");
                }
            }
        }
    }
}

#[test]
fn odd_huffman_tables_are_refused() {
    let mut table = Table::new(Class::Ac);
    let mut counts = [0_u8; 16];
    counts[0] = 3;
    // Three codes of one bit cannot exist.
    assert!(table.define(&[&counts[..], &[1, 2, 3]].concat(), false).is_none());
    counts[0] = 1;
    // A size of zero with a run of one, and a coefficient of eleven bits.
    assert!(table.define(&[&counts[..], &[0x10]].concat(), false).is_none());
    assert!(table.define(&[&counts[..], &[0x0B]].concat(), false).is_none());
    assert!(table.define(&[&counts[..], &[0x01]].concat(), false).is_some());
    // Fewer symbols than counted.
    assert!(table.define(&counts[..], false).is_none());
    assert!(table.define(&counts[..9], false).is_none());
}

#[test]
fn small_files_only_get_tables_that_come_again() {
    let file = Sample { size: (32, 32), optimize: true, ..Sample::default() }.encode();
    let header = read_header(&file).unwrap();
    let mut tables = Tables::default();
    let reads: Vec<bool> =
        (0..6).map(|_| frame::read(&file, &header, Scale::Full, &mut tables).is_some()).collect();
    assert!(!reads[0] && reads[5]);
}

#[test]
fn passing_over_ends_where_decoding_ends() {
    let mut random = Random::new(9);
    let mut tables = Tables::default();
    let mut scan = Unstuffed::default();
    for _ in 0..200 {
        let sample =
            Sample { progressive: false, arithmetic: false, restart: (0, 0), ..Sample::random(&mut random) };
        let file = Sample { rgb: false, size: (64, 64), ..sample }.encode();
        let header = read_header(&file).unwrap();
        let read = |_| frame::read(&file, &header, Scale::Full, &mut tables);
        let Some(frame) = (0..5).find_map(read) else { continue };
        scan.fill(&file[frame.data..], false).unwrap();
        let component = frame.components[0];
        tables.ac[component.ac].prepare_skipping();
        let (dc, ac) = (&tables.dc[component.dc], &tables.ac[component.ac]);
        let mut decoded = bits::Bits::new(&scan.data, 0);
        let mut passed = decoded;
        let (mut first, mut second) = (0, 0);
        let mut block = Block::default();
        // Luma tables on arbitrary data: most of it is not a valid block, which must not matter either.
        for _ in 0..64 {
            let a = block::decode(&mut decoded, dc, ac, &mut first, &mut block);
            let b = block::skip(&mut passed, dc, ac, &mut second);
            assert_eq!(a, b);
            if a.is_err() {
                break;
            }
            assert_eq!((decoded.position(), first), (passed.position(), second));
        }
    }
}

#[test]
fn common_files_stay_here_and_portable_code_agrees() {
    let mut fast = Fast::new();
    let mut portable = Fast::new();
    portable.simd = false;
    let mut random = Random::new(10);
    for round in 0..120 {
        // All but the two subsamplings by four.
        let subsampling = SUBSAMPLINGS[[0, 1, 2, 3, 6][round % 5]];
        let sample = Sample {
            size: (16 + random.below(150), 16 + random.below(150)),
            subsampling,
            progressive: false,
            arithmetic: false,
            rgb: false,
            ..Sample::random(&mut random)
        };
        let file = sample.encode();
        let header = read_header(&file).unwrap();
        // Upsampling left at an eighth follows other rules, which only libjpeg-turbo implements.
        let scales = [Scale::Full, Scale::Half, Scale::Quarter, Scale::Eighth];
        let known = if [1, 3].contains(&(round % 5)) { &scales[..3] } else { &scales };
        for (&scale, output) in known.iter().flat_map(|scale| [(scale, Output::Rgb), (scale, Output::Gray)]) {
            let region = Region::whole(&header, scale);
            if region.width < 16 || region.height < 16 {
                continue;
            }
            let request = Request { scale, region, output };
            let expected = full(&file, scale, output).unwrap();
            for decoder in [&mut fast, &mut portable] {
                let mut out = vec![0; expected.len()];
                let stride = region.width as usize * output.channels();
                // Small files with new tables are left to libjpeg-turbo, one table at a time.
                for _ in 0..4 {
                    let _ = decoder.decode(&file, &header, &request, &mut out, stride);
                }
                let done = decoder.decode(&file, &header, &request, &mut out, stride);
                assert!(done.is_ok(), "{sample:?} {scale:?} {output:?} {}", decoder.simd);
                assert!(out == expected, "{sample:?}");
            }
        }
    }
}
