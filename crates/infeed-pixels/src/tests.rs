//! Properties that hold for any input. Equality with Pillow is tested with the transforms, against golden files.

use super::*;

/// A slope with noise on it.
fn photo(width: usize, height: usize, channels: usize) -> Vec<u8> {
    (0..width * height * channels).map(|i| ((i / channels % width * 5 + i * i % 61) % 256) as u8).collect()
}

fn picture(data: &[u8], width: usize, height: usize, channels: usize) -> Picture<'_> {
    Picture { data, width, height, channels }
}

const IDENTITY: Affine = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0];

#[test]
fn factor_one_changes_nothing() {
    let before = photo(19, 7, 3);
    let mut data = before.clone();
    brightness(&mut data, 1.0);
    contrast(&mut data, 3, 1.0);
    saturation(&mut data, 1.0);
    solarize(&mut data, 256.0);
    posterize(&mut data, 8);
    assert_eq!(data, before);
    let mut out = vec![0; data.len()];
    sharpness(&picture(&data, 19, 7, 3), 1.0, &mut out).unwrap();
    assert_eq!(out, before);
}

#[test]
fn colours_do_not_depend_on_the_width_of_vectors() {
    // Lengths around those of blocks and vectors.
    for pixels in (0..200).chain([4095, 4096, 4097, 9000]) {
        let before = photo(pixels, 1, 3);
        let all = std::cell::RefCell::new(Vec::new());
        wide::with_every_width(|| {
            let mut out = vec![before.clone(); 5];
            brightness(&mut out[0], 1.37);
            contrast(&mut out[1], 3, 1.37);
            saturation(&mut out[2], 1.37);
            hue(&mut out[3], 0.21);
            gray_in_place(&mut out[4]);
            let mut gray = vec![0; pixels];
            grayscale(&before, &mut gray);
            assert!(gray.iter().eq(out[4].iter().step_by(3)));
            all.borrow_mut().push(out);
        });
        assert!(all.borrow().iter().all(|one| *one == all.borrow()[0]), "{pixels} pixels");
    }
}

#[test]
fn invert_twice_is_nothing() {
    let before = photo(8, 3, 1);
    let mut data = before.clone();
    invert(&mut data);
    assert_ne!(data, before);
    invert(&mut data);
    assert_eq!(data, before);
}

#[test]
fn flat_pictures_stay_flat() {
    for c in [1, 3] {
        let before = vec![77; 20 * 10 * c];
        let mut data = before.clone();
        equalize(&mut data, c);
        autocontrast(&mut data, c);
        contrast(&mut data, c, 0.3);
        assert_eq!(data, before);
        let mut out = vec![0; data.len()];
        let kernel = Gaussian::new(9, 3.0);
        blur(&picture(&data, 20, 10, c), &kernel, &kernel, &mut out).unwrap();
        assert_eq!(out, before);
        sharpness(&picture(&data, 20, 10, c), 3.0, &mut out).unwrap();
        assert_eq!(out, before);
    }
}

#[test]
fn the_identity_copies() {
    for c in 1..=4 {
        let data = photo(13, 9, c);
        let source = picture(&data, 13, 9, c);
        for sampling in [Sampling::Nearest, Sampling::Bilinear] {
            let mut out = vec![0; data.len()];
            warp_affine(&source, &IDENTITY, sampling, [9; 4], 13, &mut out);
            assert_eq!(out, data);
            let corners = [(0.0, 0.0), (12.0, 0.0), (12.0, 8.0), (0.0, 8.0)];
            out.fill(0);
            warp_perspective(
                &source,
                &perspective(corners, corners).unwrap(),
                sampling,
                [9; 4],
                13,
                &mut out,
            );
            assert_eq!(out, data);
        }
    }
}

#[test]
fn turns_add_up() {
    let data = photo(7, 4, 3);
    let (mut a, mut b) = (vec![0; data.len()], vec![0; data.len()]);
    turn(&picture(&data, 7, 4, 3), Turn::Quarter, &mut a);
    assert_eq!(a[..3], data[6 * 3..7 * 3], "the upper right corner goes to the upper left one");
    turn(&picture(&a, 4, 7, 3), Turn::Quarter, &mut b);
    turn(&picture(&data, 7, 4, 3), Turn::Half, &mut a);
    assert_eq!(a, b);
    turn(&picture(&a, 7, 4, 3), Turn::Quarter, &mut b);
    turn(&picture(&data, 7, 4, 3), Turn::ThreeQuarters, &mut a);
    assert_eq!(a, b);
}

#[test]
fn everything_takes_single_pixels() {
    for c in [1, 3] {
        let mut data = photo(1, 1, c);
        let mut out = vec![0; c];
        brightness(&mut data, 0.4);
        contrast(&mut data, c, 1.7);
        autocontrast(&mut data, c);
        equalize(&mut data, c);
        sharpness(&picture(&data, 1, 1, c), 0.0, &mut out).unwrap();
        let one = Gaussian::new(1, 0.5);
        blur(&picture(&data, 1, 1, c), &one, &one, &mut out).unwrap();
        assert_eq!(out, data);
        for angle in [0.0, 33.0, 90.0, 180.0, 301.0] {
            let r = rotation(1, 1, angle, true, None);
            let mut out = vec![0; r.width * r.height * c];
            for sampling in [Sampling::Nearest, Sampling::Bilinear] {
                warp_affine(&picture(&data, 1, 1, c), &r.matrix, sampling, [0; 4], r.width, &mut out);
            }
        }
    }
}

#[test]
fn outside_is_fill() {
    let data = photo(6, 6, 3);
    for matrix in
        [[1.0, 0.0, 100.0, 0.0, 1.0, 0.0], [1.0, 0.1, 100.0, 0.1, 1.0, 0.0], [1e6, 1e6, 1e6, 1e6, 1e6, 1e6]]
    {
        for sampling in [Sampling::Nearest, Sampling::Bilinear] {
            let mut out = vec![0; 6 * 6 * 3];
            warp_affine(&picture(&data, 6, 6, 3), &matrix, sampling, [1, 2, 3, 4], 6, &mut out);
            assert!(out.chunks(3).all(|p| p == [1, 2, 3]), "{matrix:?}");
        }
    }
}

#[test]
fn a_line_has_no_perspective() {
    let from = [(0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0)];
    assert!(perspective(from, [(0.0, 0.0), (3.0, 3.0), (6.0, 6.0), (9.0, 9.0)]).is_none());
    assert!(perspective(from, [(0.0, 0.0), (9.0, 1.0), (8.0, 9.0), (1.0, 7.0)]).is_some());
}
