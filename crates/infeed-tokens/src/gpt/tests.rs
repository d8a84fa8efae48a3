use super::*;
use proptest::prelude::*;

/// The definition, implemented literally: concatenate documents and cut.
fn plain(sizes: &[u64], ask: &Ask) -> (Vec<i32>, Vec<[u32; 2]>, Vec<u32>) {
    let tokens: u64 = ask.documents.clone().map(|d| sizes[d as usize]).sum();
    let mut epochs = 1;
    while (epochs * tokens - 1) / ask.length < ask.samples {
        epochs += 1;
    }
    let before = if epochs == 1 { 0 } else { ((epochs - 1) * tokens - 1) / ask.length };
    let per_epoch = (tokens - 1) / ask.length;
    let apart = epochs > 1 && ((ask.samples - before) as i64) < (0.8 * per_epoch as f64) as i64;
    let mut random = RandomState::new(ask.seed);
    let mut documents: Vec<i32> = vec![];
    let groups = if apart { vec![epochs - 1, 1] } else { vec![epochs] };
    for times in groups {
        let mut group: Vec<i32> = (0..times).flat_map(|_| ask.documents.clone().map(|d| d as i32)).collect();
        random.shuffle(&mut group);
        documents.extend(group);
    }
    let places: Vec<[u32; 2]> = (0..)
        .zip(&documents)
        .flat_map(|(place, d)| (0..sizes[*d as usize] as u32).map(move |token| [place, token]))
        .collect();
    let count = (epochs * tokens - 1) / ask.length;
    let mut starts: Vec<[u32; 2]> = (0..=count).map(|i| places[(i * ask.length) as usize]).collect();
    starts[0] = [0, 0];
    let mut first: Vec<u32> = (0..if apart { before as u32 } else { count as u32 }).collect();
    let mut last: Vec<u32> = (first.len() as u32..count as u32).collect();
    random.shuffle(&mut first);
    random.shuffle(&mut last);
    (documents, starts, [first, last].concat())
}

proptest! {
    #[test]
    fn samples_follow_the_definition(
        sizes in prop::collection::vec(0u64..9, 1..12),
        length in 1u64..7,
        samples in 0u64..60,
        seed in any::<u32>(),
    ) {
        prop_assume!(sizes.iter().sum::<u64>() > 0);
        let ask = Ask { documents: 0..sizes.len() as u64, samples, length, seed };
        let made = Samples::build(&ask, |d| sizes[d as usize]).unwrap();
        let (documents, starts, shuffle) = plain(&sizes, &ask);
        prop_assert_eq!((&made.documents, &made.starts, &made.shuffle), (&documents, &starts, &shuffle));
        prop_assert!(made.len() >= samples);
        for place in 0..made.len() {
            let mut tokens = 0;
            made.pieces(place, |d, from, to| tokens += to.unwrap_or(sizes[d as usize]) - from).unwrap();
            prop_assert_eq!(tokens, length + 1);
        }
        prop_assert_eq!(made.pieces(made.len(), |_, _, _| ()), None);
    }
}

#[test]
fn the_last_epoch_is_apart_below_four_fifths() {
    // 101 tokens and samples of 10: ten in each epoch.
    assert_eq!(Epochs::new(101, 10, 10).unwrap().epochs, 1);
    let apart = |samples| Epochs::new(101, samples, 10).unwrap().before_last;
    assert_eq!(
        (apart(10), apart(11), apart(17), apart(18), apart(20)),
        (None, Some(10), Some(10), None, None)
    );
    assert!(Epochs::new(0, 1, 1).is_err() && Epochs::new(1, u64::MAX, 2).is_err());
    let all = Epochs::new(7, 0, 10).unwrap();
    assert_eq!((all.epochs, all.samples), (1, 0));
}

#[test]
fn what_cannot_be_held_is_refused() {
    let ask = Ask { documents: 0..1, samples: 5_000_000_000, length: 1, seed: 0 };
    assert!(Samples::build(&ask, |_| 10).unwrap_err().to_string().contains("2^32"));
    let none = Ask { documents: 3..3, samples: 1, length: 1, seed: 0 };
    assert!(Samples::build(&none, |_| 10).unwrap_err().to_string().contains("no document"));
}

fn about(split: Option<&str>) -> Description {
    Description { prefix: "data/x".into(), name: "train".into(), split: split.map(str::to_owned) }
}

#[test]
fn descriptions_are_megatrons() {
    let ask = Ask { documents: 0..1, samples: 7, length: 8, seed: 1234 };
    let text = about(Some("969, 30, 1")).text(&ask, Some(2));
    assert_eq!(
        text,
        "GPT Dataset\n\nData prefix data/x\nDataset name train\nNumber of samples 7\nNumber of epochs 2\n\
         Sequence length 8\nRandom seed 1234\nSplit 969, 30, 1\n"
    );
    assert!(!about(None).text(&ask, None).contains("epochs"));
}

#[test]
fn caches_are_written_read_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("index-cache").display().to_string();
    let sizes = [5u64, 0, 7, 3];
    let ask = Ask { documents: 0..4, samples: 9, length: 4, seed: 3 };
    let find = || find_or_build(&folder, &about(None), &ask, |d| sizes[d as usize]);
    let made = Samples::build(&ask, |d| sizes[d as usize]).unwrap();
    assert_eq!(find().unwrap(), made);
    let names = || {
        let mut names: Vec<String> =
            std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path().display().to_string()).collect();
        names.sort();
        names
    };
    let paths = names();
    assert_eq!(paths.len(), 4, "{paths:?}");
    assert_eq!(find().unwrap(), made);
    // With a changed byte or length, the cache is rejected with the name of the file.
    for (path, at, what) in [
        (&paths[1], 128, "entry 0"),
        (&paths[2], 128, "sample"),
        (&paths[3], 128, "comes twice"),
        (&paths[0], 20, "other samples"),
    ] {
        let whole = std::fs::read(path).unwrap();
        let mut wrong = whole.clone();
        wrong[at] = if what == "comes twice" { wrong[132] } else { 99 };
        std::fs::write(path, &wrong).unwrap();
        let error = find().unwrap_err().to_string();
        assert!(error.contains(what) && error.contains(path) && error.contains("Delete it"), "{error}");
        std::fs::write(path, &whole[..whole.len() - 1]).unwrap();
        assert!(find().is_err());
        std::fs::write(path, &whole).unwrap();
    }
    // If one of the files is missing, all are written again.
    std::fs::remove_file(&paths[0]).unwrap();
    assert_eq!(find().unwrap(), made);
    assert_eq!(names(), paths);
}
