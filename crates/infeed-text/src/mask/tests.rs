use super::*;
use infeed_core::Rng;
use proptest::prelude::*;

fn bert() -> Masking {
    Masking::new(3, 1000, 0.15, (0.1, 0.1), vec![0, 1, 2], -100).unwrap()
}

/// Returns inputs and labels of the same tokens.
fn run(masking: &Masking, tokens: &[i64], row: u64) -> (Vec<i64>, Vec<i64>) {
    let (mut inputs, mut labels) = (tokens.to_vec(), tokens.to_vec());
    masking.inputs(&mut inputs, &mut Rng::at(1, 0, row, 0));
    masking.labels(&mut labels, &mut Rng::at(1, 0, row, 0));
    (inputs, labels)
}

proptest! {
    #[test]
    fn inputs_and_labels_give_the_tokens_back(tokens in prop::collection::vec(0i64..1000, 0..300), row in any::<u64>()) {
        let (inputs, labels) = run(&bert(), &tokens, row);
        for at in 0..tokens.len() {
            // A label is the original token; where there is none, the input is the original token.
            let back = if labels[at] == -100 { inputs[at] } else { labels[at] };
            prop_assert_eq!(back, tokens[at]);
            prop_assert!(tokens[at] > 2 || labels[at] == -100, "special tokens are never chosen");
        }
        prop_assert_eq!(run(&bert(), &tokens, row), (inputs, labels));
    }

    #[test]
    fn words_are_hidden_whole(words in prop::collection::vec(1usize..6, 1..60), row in any::<u64>()) {
        // Even tokens begin a word, odd ones continue it.
        let masking = bert().whole_words((0..1000).map(|t| t % 2 == 1).collect());
        let tokens: Vec<i64> = words.iter().flat_map(|n| (0..*n).map(|i| if i == 0 { 10 } else { 11 })).collect();
        let (_, labels) = run(&masking, &tokens, row);
        let mut at = 0;
        for n in words {
            let asked: Vec<bool> = labels[at..at + n].iter().map(|l| *l != -100).collect();
            prop_assert!(asked.iter().all(|a| *a == asked[0]), "{:?}", asked);
            at += n;
        }
    }
}

#[test]
fn shares_are_as_asked() {
    let tokens: Vec<i64> = (0..200_000).map(|i| 10 + i % 900).collect();
    let (inputs, labels) = run(&bert(), &tokens, 0);
    let chosen: Vec<usize> = (0..tokens.len()).filter(|i| labels[*i] != -100).collect();
    let share = |n: usize, of: usize| n as f64 / of as f64;
    let masked = chosen.iter().filter(|i| inputs[**i] == 3).count();
    let kept = chosen.iter().filter(|i| inputs[**i] == tokens[**i]).count();
    // Five standard deviations of 200,000 and of 30,000 draws.
    assert!((share(chosen.len(), tokens.len()) - 0.15).abs() < 0.004);
    assert!((share(masked, chosen.len()) - 0.8).abs() < 0.012);
    assert!((share(kept, chosen.len()) - 0.1).abs() < 0.009);
}

#[test]
fn nonsense_is_refused() {
    assert!(Masking::new(3, 1000, 1.5, (0.1, 0.1), vec![], -100).is_err());
    assert!(Masking::new(3, 1000, 0.5, (0.6, 0.5), vec![], -100).is_err());
    assert!(Masking::new(3, 3, 0.5, (0.1, 0.1), vec![], -100).is_err());
    let none = Masking::new(3, 10, 0.0, (0.1, 0.1), vec![], -1).unwrap();
    assert_eq!(run(&none, &[5, 6], 0), (vec![5, 6], vec![-1, -1]));
    let all = Masking::new(3, 10, 1.0, (0.0, 0.0), vec![], -1).unwrap();
    assert_eq!(run(&all, &[5, 6], 0), (vec![3, 3], vec![5, 6]));
}
