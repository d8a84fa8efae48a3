//! File lists: which corpora to mix, and how much of each.
//!
//! One corpus file a line, `weight prefix corpus`. Blank lines and those that begin with `#` say nothing. Files without a
//! name of a corpus belong to one that is called `default`.

use infeed_core::{Error, Result};
use std::collections::BTreeMap;

/// The corpus of files that name none.
pub const DEFAULT: &str = "default";

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its share, in proportion to the others.
    pub weight: f64,
    /// The file, without `.bin` or `.idx`.
    pub prefix: String,
    /// What it is a part of.
    pub corpus: String,
}

/// Reads a list; `name` is for messages.
pub fn parse(text: &str, name: &str) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let wrong = |what: String| {
            Error::argument(format!("`{name}`, line {line}: {what}; a line has `weight prefix corpus`"))
        };
        let (weight, prefix, corpus) = match words[..] {
            [weight, prefix] => (weight, prefix, DEFAULT),
            [weight, prefix, corpus] => (weight, prefix, corpus),
            _ => return Err(wrong(format!("{} words", words.len()))),
        };
        let parsed = weight.parse().ok().filter(|w: &f64| w.is_finite() && *w >= 0.0);
        let weight = parsed.ok_or_else(|| wrong(format!("`{weight}` is no weight")))?;
        out.push(Entry { weight, prefix: prefix.to_owned(), corpus: corpus.to_owned() });
    }
    if out.is_empty() {
        return Err(Error::argument(format!("`{name}` lists no file; a line has `weight prefix corpus`")));
    }
    let sum: f64 = out.iter().map(|e| e.weight).sum();
    if sum <= 0.0 || sum.is_infinite() {
        return Err(Error::argument(format!("the weights in `{name}` add up to {sum}")));
    }
    Ok(out)
}

/// Weights that add up to 1.
pub fn normalized(entries: &[Entry]) -> Vec<f64> {
    // From left to right: other orders of addition round otherwise.
    let sum = entries.iter().fold(0.0, |sum, e| sum + e.weight);
    entries.iter().map(|e| e.weight / sum).collect()
}

/// How many samples each file must have for `samples` of all: half a percent more than its share, rounded up.
pub fn samples_per_file(entries: &[Entry], samples: u64) -> Vec<u64> {
    normalized(entries).iter().map(|w| (samples as f64 * w * 1.005).ceil() as u64).collect()
}

/// The places of the files of each corpus, corpora in alphabetical order.
pub fn by_corpus(entries: &[Entry]) -> BTreeMap<&str, Vec<usize>> {
    let mut out: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        out.entry(&entry.corpus).or_default().push(place);
    }
    out
}

/// A list with weights in proportion to numbers of tokens.
pub fn by_tokens(files: &[(String, String, u64)]) -> Result<String> {
    let total: u64 = files.iter().map(|(_, _, tokens)| tokens).sum();
    if total == 0 {
        return Err(Error::argument("there is no token in these files: nothing to make a list of"));
    }
    let mut out = String::new();
    for (prefix, corpus, tokens) in files {
        if [prefix, corpus].iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
            let what = format!("`{prefix}` of corpus `{corpus}`: a list has no place for blanks in names");
            return Err(Error::argument(what));
        }
        out += &format!("{:.10} {prefix} {corpus}\n", *tokens as f64 / total as f64);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_entries() {
        let text =
            "0.3 /data/web_0 web\n\n# a comment\n  0.1\t/data/code code \n0.1 /data/web_1 web\n1e-1 x\n";
        let entries = parse(text, "list.txt").unwrap();
        assert_eq!(entries[1], Entry { weight: 0.1, prefix: "/data/code".into(), corpus: "code".into() });
        assert_eq!(entries[3].corpus, DEFAULT);
        let groups = by_corpus(&entries);
        assert_eq!(
            groups.into_iter().collect::<Vec<_>>(),
            [("code", vec![1]), ("default", vec![3]), ("web", vec![0, 2])]
        );
        assert_eq!(samples_per_file(&entries[..2], 100), [76, 26]);
        assert!((normalized(&entries).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn wrong_lines_are_named() {
        let fails = |text: &str| parse(text, "list.txt").unwrap_err().to_string();
        assert!(fails("1 a b\nx a b").contains("line 2: `x` is no weight"));
        assert!(fails("1 a b c").contains("4 words"));
        assert!(fails("1").contains("1 words"));
        assert!(fails("-1 a b").contains("no weight"));
        assert!(fails("inf a b").contains("no weight"));
        assert!(fails("# nothing\n").contains("lists no file"));
        assert!(fails("0 a b\n0 c d").contains("add up to 0"));
    }

    #[test]
    fn lists_are_made_of_counts() {
        let files = [("a".into(), "web".into(), 3), ("b".into(), "code".into(), 1)];
        let text = by_tokens(&files).unwrap();
        assert_eq!(text, "0.7500000000 a web\n0.2500000000 b code\n");
        assert_eq!(parse(&text, "x").unwrap().len(), 2);
        assert!(by_tokens(&[("a b".into(), "c".into(), 1)]).is_err());
        assert!(by_tokens(&[("a".into(), "c".into(), 0)]).is_err());
    }
}
