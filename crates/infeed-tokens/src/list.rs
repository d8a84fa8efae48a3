//! File lists: which corpora to mix, and how much of each.
//!
//! One corpus file per line, `weight prefix corpus`. Blank lines and lines that begin with `#` are ignored. Files
//! without a corpus name belong to the corpus `default`.

use infeed_core::{Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;

/// The corpus of files without a corpus name.
pub const DEFAULT: &str = "default";

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its share, in proportion to the others.
    pub weight: f64,
    /// The file, without `.bin` or `.idx`.
    pub prefix: String,
    /// The corpus it belongs to.
    pub corpus: String,
}

/// A corpus of a list: its share and its files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Corpus {
    /// Its name.
    pub name: String,
    /// Its share: the sum over its files.
    pub weight: f64,
    /// Its files, in the order of the list.
    pub files: Vec<File>,
}

/// A file of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct File {
    /// The file, without `.bin` or `.idx`.
    pub prefix: String,
    /// Its share. The shares of all files of a list add up to 1.
    pub weight: f64,
    /// How many samples it must have, if a total was given.
    pub samples: Option<u64>,
}

/// Parses a list; `name` is for messages.
pub fn parse(text: &str, name: &str) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() || words[0].starts_with('#') {
            continue;
        }
        let wrong = |what: String| {
            let content = content.trim();
            Error::argument(format!(
                "`{name}`, line {line}: `{content}` is not `weight prefix corpus`: {what}"
            ))
        };
        let (weight, prefix, corpus) = match words[..] {
            [weight, prefix] => (weight, prefix, DEFAULT),
            [weight, prefix, corpus] => (weight, prefix, corpus),
            [_] => return Err(wrong("it has one word".to_owned())),
            _ => return Err(wrong(format!("it has {} words", words.len()))),
        };
        let parsed = weight.parse().ok().filter(|w: &f64| w.is_finite() && *w >= 0.0);
        let weight = parsed.ok_or_else(|| wrong(format!("`{weight}` is no weight")))?;
        out.push(Entry { weight, prefix: prefix.to_owned(), corpus: corpus.to_owned() });
    }
    if out.is_empty() {
        return Err(Error::argument(format!("`{name}` lists no file; a line has `weight prefix corpus`")));
    }
    let sum = total(&out);
    if sum <= 0.0 || sum.is_infinite() {
        return Err(Error::argument(format!("the weights in `{name}` add up to {sum}")));
    }
    Ok(out)
}

/// Parses a list into corpora in alphabetical order, with their files. `samples` is the total over all files: each file
/// then gets half a percent more than its share, rounded up, as in BlendCorpus, and files that get none are left out.
pub fn plan(text: &str, name: &str, samples: Option<u64>) -> Result<Vec<Corpus>> {
    let entries = parse(text, name)?;
    let sum = total(&entries);
    let mut corpora: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for entry in entries {
        let weight = entry.weight / sum;
        let samples = samples.map(|all| (all as f64 * weight * 1.005).ceil() as u64);
        if samples != Some(0) {
            corpora.entry(entry.corpus).or_default().push(File { prefix: entry.prefix, weight, samples });
        }
    }
    let corpus = |(name, files): (String, Vec<File>)| {
        let weight = files.iter().fold(0.0, |sum, file| sum + file.weight);
        Corpus { name, weight, files }
    };
    Ok(corpora.into_iter().map(corpus).collect())
}

/// Returns the sum of all weights.
fn total(entries: &[Entry]) -> f64 {
    // From left to right, as BlendCorpus does: a different order of additions rounds differently.
    entries.iter().fold(0.0, |sum, e| sum + e.weight)
}

/// Creates a list with weights proportional to token counts.
pub fn by_tokens(files: &[(String, String, u64)]) -> Result<String> {
    let total: u64 = files.iter().map(|(_, _, tokens)| tokens).sum();
    if total == 0 {
        return Err(Error::argument("there is no token in these files: nothing to make a list of"));
    }
    let mut out = String::new();
    for (prefix, corpus, tokens) in files {
        if [prefix, corpus].iter().any(|word| word.is_empty() || word.contains(char::is_whitespace)) {
            let what = format!("`{prefix}` of corpus `{corpus}`: names in a list cannot contain spaces");
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
    fn lines_become_corpora() {
        let text =
            "0.3 /data/web_0 web\n\n# a comment\n  0.1\t/data/code code \n0.1 /data/web_1 web\n1e-1 x\n";
        let entries = parse(text, "list.txt").unwrap();
        assert_eq!(entries[1], Entry { weight: 0.1, prefix: "/data/code".into(), corpus: "code".into() });
        let corpora = plan(text, "list.txt", None).unwrap();
        let names: Vec<(&str, Vec<&str>)> = corpora
            .iter()
            .map(|c| (c.name.as_str(), c.files.iter().map(|f| f.prefix.as_str()).collect()))
            .collect();
        let web = vec!["/data/web_0", "/data/web_1"];
        assert_eq!(names, [("code", vec!["/data/code"]), (DEFAULT, vec!["x"]), ("web", web)]);
        assert!((corpora.iter().map(|c| c.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(corpora[2].weight, corpora[2].files[0].weight + corpora[2].files[1].weight);
        assert!(corpora.iter().flat_map(|c| &c.files).all(|f| f.samples.is_none()));
    }

    #[test]
    fn files_get_their_samples() {
        let samples = |text: &str, all| -> Vec<Vec<u64>> {
            let counts = |c: &Corpus| c.files.iter().filter_map(|f| f.samples).collect();
            plan(text, "x", Some(all)).unwrap().iter().map(counts).collect()
        };
        assert_eq!(samples("0.3 a web\n0.1 b code", 100), [[26], [76]]);
        // A file without weight is not read at all.
        assert_eq!(samples("1 a web\n0 b code\n0 c web", 10), [[11]]);
        assert!(samples("1 a web", 0).is_empty());
    }

    #[test]
    fn wrong_lines_are_named() {
        let fails = |text: &str| parse(text, "list.txt").unwrap_err().to_string();
        assert_eq!(
            fails("1 a b\nx a b"),
            "`list.txt`, line 2: `x a b` is not `weight prefix corpus`: `x` is no weight"
        );
        assert!(fails("1 a b c").contains("it has 4 words"));
        assert!(fails("1").contains("it has one word"));
        assert!(fails("-1 a b").contains("`-1` is no weight"));
        assert!(fails("inf a b").contains("no weight"));
        assert!(fails("# nothing\n").contains("lists no file"));
        assert!(fails("0 a b\n0 c d").contains("add up to 0"));
        assert!(fails("1e308 a b\n1e308 c d").contains("add up to inf"));
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
