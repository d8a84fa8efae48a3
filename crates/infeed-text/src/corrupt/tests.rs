use super::*;
use infeed_core::Rng;
use proptest::prelude::*;
use std::collections::HashMap;

const START: i64 = 32_099;

fn t5(length: Option<usize>) -> Corruption {
    Corruption::new(START, false, 0.15, 3.0, Some(1), length).unwrap()
}

/// Puts the spans of the targets back into the inputs.
fn together(inputs: &[i64], targets: &[i64], is_sentinel: impl Fn(i64) -> bool) -> Vec<i64> {
    let mut spans: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut last = 0;
    for token in &targets[..targets.len() - 1] {
        if is_sentinel(*token) {
            last = *token;
            assert!(spans.insert(last, vec![]).is_none(), "every sentinel comes once");
        } else {
            spans.get_mut(&last).unwrap().push(*token);
        }
    }
    inputs[..inputs.len() - 1].iter().flat_map(|t| spans.remove(t).unwrap_or_else(|| vec![*t])).collect()
}

proptest! {
    #[test]
    fn inputs_and_targets_give_the_text_back(
        size in 0usize..700, row in any::<u64>(), density in 0.01f64..0.9, mean in 1.0f64..10.0, ascending in any::<bool>(),
    ) {
        let corruption = Corruption::new(START, ascending, density, mean, Some(1), None).unwrap();
        let tokens: Vec<i64> = (0..size as i64).map(|i| 2 + i).collect();
        let rng = || Rng::at(5, 0, row, 0);
        let inputs = corruption.inputs(&tokens, &mut rng()).unwrap();
        let targets = corruption.targets(&tokens, &mut rng()).unwrap();
        prop_assert_eq!((inputs.len(), targets.len()), corruption.sizes(size));
        prop_assert_eq!((*inputs.last().unwrap(), *targets.last().unwrap()), (1, 1));
        let sentinel = |t: i64| (t - START).abs() < 1000;
        prop_assert_eq!(together(&inputs, &targets, sentinel), tokens);
        let order: Vec<i64> = inputs.iter().copied().filter(|t| sentinel(*t)).collect();
        let step = if ascending { 1 } else { -1 };
        prop_assert!(order.iter().enumerate().all(|(n, s)| *s == START + step * n as i64));
    }

    #[test]
    fn inputs_fill_their_length(length in 3usize..2000) {
        let corruption = t5(Some(length));
        let most = corruption.most().unwrap();
        prop_assert!(corruption.sizes(usize::MAX).0 <= length);
        let free = t5(None);
        prop_assert!(free.sizes(most).0 <= length && free.sizes(most + 1).0 > length, "the longest text is used");
    }
}

#[test]
fn lengths_are_those_that_t5_was_trained_with() {
    // 568 tokens make inputs of 512 and targets of 114.
    let corruption = t5(Some(512));
    assert_eq!((corruption.most(), corruption.sizes(1000)), (Some(568), (512, 114)));
}

#[test]
fn partitions_are_even() {
    let mut counts: HashMap<Vec<usize>, u32> = HashMap::new();
    let mut rng = Rng::at(0, 0, 0, 0);
    for _ in 0..60_000 {
        *counts.entry(partition(6, 3, &mut rng)).or_default() += 1;
    }
    // Ten ways to divide six into three parts, 6,000 each: five standard deviations are 370.
    assert_eq!(counts.len(), 10);
    assert!(counts.values().all(|n| (5_600..6_400).contains(n)), "{counts:?}");
    assert!(counts.keys().all(|p| p.len() == 3 && p.iter().sum::<usize>() == 6 && !p.contains(&0)));
    assert_eq!((partition(1, 1, &mut rng), partition(4, 4, &mut rng)), (vec![1], vec![1; 4]));
}

#[test]
fn nonsense_is_refused() {
    for (sentinel, density, mean, length) in [
        (-1, 0.15, 3.0, None),
        (9, 0.0, 3.0, None),
        (9, 1.0, 3.0, None),
        (9, 0.1, 0.5, None),
        (9, 0.1, 3.0, Some(2)),
    ] {
        assert!(Corruption::new(sentinel, false, density, mean, Some(1), length).is_err());
    }
    let few = Corruption::new(2, false, 0.5, 1.0, None, None).unwrap();
    let error = few.inputs(&[5; 20], &mut Rng::at(0, 0, 0, 0)).unwrap_err().to_string();
    assert!(error.contains("10 spans") && error.contains("only 3"), "{error}");
}
