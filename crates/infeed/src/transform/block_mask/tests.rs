use super::{super::patches::masked, *};
use serde_json::{Value as Json, json};

fn run(args: &Json, row: u64) -> Vec<Vec<u8>> {
    masked(&ENTRY, args, row).unwrap()
}

fn count(mask: &[Vec<u8>]) -> usize {
    mask.iter().flatten().filter(|v| **v == 1).count()
}

fn blocks(rows: usize, columns: usize, areas: (usize, usize)) -> BlockMask {
    BlockMask { grid: Grid { rows, columns }, ratio: (0.4, 0.4), areas, min_aspect: 0.3, p: 1.0 }
}

#[test]
fn the_count_is_exact() {
    for grid in [[1, 1], [1, 9], [9, 1], [2, 40], [7, 7], [14, 14], [16, 12]] {
        for percent in 0..=100u32 {
            let ratio = f64::from(percent) / 100.0;
            let wanted = (ratio * f64::from(grid[0] * grid[1])).round_ties_even() as usize;
            for least in [1, 4, 16, 1000] {
                let mask =
                    run(&json!({"patches": grid, "ratio": ratio, "min_patches": least}), percent.into());
                assert_eq!(mask.len(), grid[0] as usize);
                assert_eq!(count(&mask), wanted, "{grid:?} {ratio} {least}");
            }
        }
    }
}

#[test]
fn a_range_is_drawn_for_each_image() {
    let args = json!({"patches": 16, "ratio": [0.1, 0.5], "min_patches": 4});
    let counts: Vec<usize> = (0..1000).map(|row| count(&run(&args, row))).collect();
    assert!(counts.iter().all(|n| (26..=128).contains(n)), "{counts:?}");
    let mean = counts.iter().sum::<usize>() as f64 / 1000.0;
    assert!((mean - 0.3 * 256.0).abs() < 3.0, "{mean}");
    assert!(counts.iter().any(|n| *n < 32) && counts.iter().any(|n| *n > 122));
}

#[test]
fn some_images_stay_whole() {
    let args = json!({"patches": 14, "p": 0.5});
    let whole = (0..1000).filter(|row| count(&run(&args, *row)) == 0).count();
    assert!((450..550).contains(&whole), "{whole}");
    assert!((0..50).all(|row| count(&run(&json!({"patches": 14, "p": 0}), row)) == 0));
}

/// What is masked is the union of the blocks drawn, and single patches for what no block could give.
#[test]
fn masks_are_rectangles() {
    let (made, wanted) = (blocks(14, 14, (16, 60)), 78);
    let mut alone = 0;
    for row in 0..300 {
        let mut rng = Rng::at(1, 0, row, 0);
        let whole = made.cover(wanted, &mut rng.clone());
        let mut union = PatchMask::new(made.grid);
        let mut covered = [false; 196];
        while let Some(block) = made.draw(&union, wanted - union.masked(), &mut rng) {
            let Block { top, left, height, width } = block;
            assert!(top + height <= 14 && left + width <= 14, "{block:?}");
            // Sides are rounded, so areas and aspects are a little beyond what was drawn.
            assert!((1..=70).contains(&(height * width)), "{block:?}");
            let aspect = height as f64 / width as f64;
            assert!(union.masked() > wanted - 16 || (0.2..5.0).contains(&aspect), "{block:?}");
            for y in top..top + height {
                (left..left + width).for_each(|x| covered[y * 14 + x] = true);
            }
            block.lay(&mut union);
            assert_eq!(union.masked(), covered.iter().filter(|c| **c).count());
            if union.masked() == wanted {
                break;
            }
        }
        alone += wanted - union.masked();
        for y in 0..14 {
            for (x, v) in whole.run(y, 0, 14).iter().enumerate() {
                assert!(*v == 1 || !covered[y * 14 + x], "a block was not laid");
            }
        }
    }
    assert!((alone as f64) < 0.05 * f64::from(300 * 78), "{alone} patches were masked alone");
}

/// Beside a masked patch there is more often another than among patches drawn one by one.
#[test]
fn neighbours_are_masked_together() {
    let together = |entry: &Entry<dyn Transform>| {
        let args = json!({"patches": 14, "ratio": 0.4});
        let pairs = |row| {
            let mask = masked(entry, &args, row).unwrap();
            let pair = |p: &&[u8]| p[0] == 1 && p[1] == 1;
            mask.iter().map(|line| line.windows(2).filter(pair).count()).sum::<usize>()
        };
        (0..200).map(pairs).sum::<usize>()
    };
    let (ours, single) = (together(&ENTRY), together(&super::super::random_patch_mask::ENTRY));
    assert!(ours > single * 3 / 2, "{ours} pairs in blocks, {single} without");
}

#[test]
fn every_patch_can_be_masked() {
    let mut often = [0; 196];
    for row in 0..2000 {
        let mask = run(&json!({"patches": 14}), row).concat();
        often.iter_mut().zip(mask).for_each(|(n, v)| *n += usize::from(v));
    }
    // Blocks lie inside the grid, so corners are masked less often than the middle.
    assert!(often.iter().all(|n| (60..1600).contains(n)), "{often:?}");
}

/// A grid of one row has no room for high blocks: those that fit are laid, and single patches do the rest.
#[test]
fn lines_of_patches() {
    for grid in [[1, 30], [30, 1]] {
        for row in 0..50 {
            let mask = run(&json!({"patches": grid, "ratio": 0.5, "min_patches": 2}), row);
            assert_eq!(count(&mask), 15);
        }
    }
    assert_eq!(run(&json!({"patches": 1, "ratio": 1}), 0), [[1]]);
    assert_eq!(run(&json!({"patches": 1, "ratio": 0}), 0), [[0]]);
}

#[test]
fn slips_are_named() {
    for (args, wanted) in [
        (json!({"patches": 0}), "patches must"),
        (json!({"patches": 4, "ratio": [0.5, 0.1]}), "low <= high"),
        (json!({"patches": 4, "ratio": [0.1, 0.2, 0.3]}), "low <= high"),
        (json!({"patches": 4, "ratio": 2}), "low <= high"),
        (json!({"patches": 4, "min_patches": 0}), "min_patches must"),
        (json!({"patches": 4, "max_patches": 8}), "at least min_patches, which is 16"),
        (json!({"patches": 4, "min_aspect": 0}), "min_aspect must"),
        (json!({"patches": 4, "min_aspect": 1.5}), "min_aspect must"),
        (json!({"patches": 4, "p": 2}), "p must be between"),
    ] {
        let error = ENTRY.make(args.as_object().unwrap()).err().unwrap().to_string();
        assert!(error.contains(wanted), "{args}: {error}");
    }
}
