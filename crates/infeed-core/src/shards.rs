//! A compact list of shards.

use crate::{Error, Result, Shard, Sums};

/// A list of shards. Names of a data set differ in a few digits, so their common prefix and suffix are stored once, and
/// the rest of all names in one string. A [`Shard`] is created on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shards {
    head: String,
    tail: String,
    /// The part of each name between `head` and `tail`.
    middles: String,
    lens: Sums<u32>,
    sizes: Vec<u64>,
    /// Modification times; [`UNKNOWN`] if the store does not know one.
    ages: Vec<u64>,
    /// [`UNKNOWN`] where the store has no versions.
    versions: Vec<u64>,
}

/// Stands for an unknown modification time; as a time it would be the year 2554.
const UNKNOWN: u64 = u64::MAX;

impl Shards {
    /// Creates a compact list of these shards.
    pub fn new(shards: &[Shard]) -> Result<Self> {
        let Some(first) = shards.first() else { return Ok(Shards::default()) };
        let mut head = first.name.len();
        for shard in shards {
            head = common(first.name.bytes().zip(shard.name.bytes()).take(head));
        }
        let head = boundary(&first.name, head);
        let mut tail = first.name.len() - head;
        for shard in shards {
            let reach = tail.min(shard.name.len() - head);
            tail = common(first.name.bytes().rev().zip(shard.name.bytes().rev()).take(reach));
        }
        while !first.name.is_char_boundary(first.name.len() - tail) {
            tail -= 1;
        }
        let middle = |shard: &Shard| head..shard.name.len() - tail;
        let mut out = Shards {
            head: first.name[..head].to_owned(),
            tail: first.name[first.name.len() - tail..].to_owned(),
            middles: String::with_capacity(shards.iter().map(|s| middle(s).len()).sum()),
            lens: Sums::with_capacity(shards.len()),
            sizes: shards.iter().map(|s| s.size).collect(),
            ages: shards.iter().map(|s| s.modified.unwrap_or(UNKNOWN)).collect(),
            versions: shards.iter().map(|s| s.version.unwrap_or(UNKNOWN)).collect(),
        };
        for shard in shards {
            let middle = &shard.name[middle(shard)];
            let too_long = |_| Error::argument("the name of a shard is longer than 4 GiB");
            out.lens.push(u32::try_from(middle.len()).map_err(too_long)?);
            out.middles.push_str(middle);
        }
        Ok(out)
    }

    /// Returns the number of shards.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Returns the common prefix of all names.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns a shard by its index.
    pub fn get(&self, place: usize) -> Option<Shard> {
        let name = self.name(place)?.into();
        Some(Shard {
            name,
            size: self.sizes[place],
            modified: self.modified(place),
            version: self.version(place),
        })
    }

    /// Returns the name of a shard.
    pub fn name(&self, place: usize) -> Option<String> {
        Some([&self.head, self.middle(place)?, &self.tail].concat())
    }

    /// Replaces the content of `out` by the name of a shard, so that many names can be read without allocating.
    pub fn name_into(&self, place: usize, out: &mut String) {
        out.clear();
        if let Some(middle) = self.middle(place) {
            [&self.head, middle, &self.tail].iter().for_each(|part| out.push_str(part));
        }
    }

    /// Returns the size of each shard.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Returns the modification time of a shard, if known.
    pub fn modified(&self, place: usize) -> Option<u64> {
        self.ages.get(place).copied().filter(|age| *age != UNKNOWN)
    }

    /// The version of a shard, where the store has one.
    pub fn version(&self, place: usize) -> Option<u64> {
        self.versions.get(place).copied().filter(|version| *version != UNKNOWN)
    }

    fn middle(&self, place: usize) -> Option<&str> {
        let range = self.lens.range(place)?;
        self.middles.get(range.start as usize..range.end as usize)
    }
}

/// Returns the number of leading equal pairs.
fn common(pairs: impl Iterator<Item = (u8, u8)>) -> usize {
    pairs.take_while(|(a, b)| a == b).count()
}

/// Returns the last character boundary of `text` at or before `at`.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shards_come_back(
            names in prop::collection::vec("(a|aé|aè|b)?[0-9]{0,3}(é|è|.tar)?", 0..40),
            age in prop::option::of(0u64..9),
        ) {
            let all: Vec<Shard> = names
                .iter()
                .enumerate()
                .map(|(i, name)| Shard { name: name.as_str().into(), size: i as u64, modified: age, version: age })
                .collect();
            let shards = Shards::new(&all).unwrap();
            let mut name = "what was here before".to_owned();
            for (i, shard) in all.iter().enumerate() {
                prop_assert_eq!(shards.get(i), Some(shard.clone()));
                shards.name_into(i, &mut name);
                prop_assert_eq!(&*name, &*shard.name);
                prop_assert!(name.starts_with(shards.head()));
            }
            prop_assert_eq!((shards.len(), shards.get(all.len())), (all.len(), None));
        }
    }

    #[test]
    fn what_names_share_is_kept_once() {
        let all: Vec<Shard> = (0..1000)
            .map(|i| Shard {
                name: format!("/data/train-{i:06}.tar").into(),
                size: 7,
                modified: Some(i),
                version: None,
            })
            .collect();
        let shards = Shards::new(&all).unwrap();
        assert_eq!((shards.head(), &*shards.tail, shards.middles.len()), ("/data/train-000", ".tar", 3000));
        assert_eq!(shards.middles.capacity(), 3000);
    }
}
