//! B-trees of both versions.

mod first;
mod second;

pub(crate) use first::v1;
pub(crate) use second::v2;

#[cfg(test)]
mod tests {
    use super::{v1, v2};
    use crate::{checksum::lookup3, error::ReadError, limits::Limits, meta::Meta, source::ByteSource};
    use bytes::Bytes;
    use std::{
        ops::Range,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    fn meta(data: Vec<u8>) -> Meta {
        Meta::new(Arc::new(Bytes::from(data)), Limits::small())
    }

    /// A node of the old tree with keys of 8 bytes.
    fn node(level: u8, children: &[u64]) -> Vec<u8> {
        let mut out = b"TREE\x00".to_vec();
        out.push(level);
        out.extend((children.len() as u16).to_le_bytes());
        out.extend([0xff; 16]);
        for child in children {
            out.extend(0u64.to_le_bytes());
            out.extend(child.to_le_bytes());
        }
        out.resize(out.len().max(100), 0);
        out
    }

    fn walk(nodes: &[Vec<u8>]) -> Result<Vec<u64>, String> {
        let mut out = Vec::new();
        let meta = meta(nodes.concat());
        let done = v1(&meta, 0, 0, 8, &mut |_, child| {
            out.push(child);
            Ok(())
        });
        done.map(|()| out).map_err(|e| e.to_string())
    }

    #[test]
    fn an_old_tree_in_order_and_in_circles() {
        assert_eq!(walk(&[node(1, &[100, 200]), node(0, &[7, 8]), node(0, &[9])]), Ok(vec![7, 8, 9]));
        assert!(
            walk(&[node(1, &[100, 100]), node(0, &[7])])
                .unwrap_err()
                .contains("goes in circles, at address 100")
        );
        assert!(walk(&[node(1, &[0])]).unwrap_err().contains("goes in circles"));
        assert!(walk(&[node(2, &[100]), node(0, &[7])]).unwrap_err().contains("wrong kind or level"));
    }

    /// A source that is far away, which counts how often it is asked.
    struct Far(Bytes, AtomicUsize);

    impl ByteSource for Far {
        fn size(&self) -> u64 {
            self.0.size()
        }

        fn read(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.read(range)
        }

        fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, ReadError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            ranges.iter().map(|range| self.0.read(range.clone())).collect()
        }

        fn is_far(&self) -> bool {
            true
        }
    }

    #[test]
    fn nodes_of_a_level_are_asked_for_together() {
        // A root, 10 nodes and 100 leaves, each in a block of its own.
        const APART: u64 = 64 << 10;
        let mut data = vec![0; 111 * APART as usize];
        let mut put = |at: u64, level, children: &[u64]| {
            let node = node(level, children);
            data[at as usize..at as usize + node.len()].copy_from_slice(&node);
        };
        put(0, 2, &(1..11).map(|n| n * APART).collect::<Vec<_>>());
        (1..11).for_each(|n| {
            put(n * APART, 1, &(0..10).map(|k| (11 + (n - 1) * 10 + k) * APART).collect::<Vec<_>>())
        });
        (0..100).for_each(|leaf| put((11 + leaf) * APART, 0, &[leaf * 2, leaf * 2 + 1]));
        let source = Arc::new(Far(data.into(), AtomicUsize::new(0)));
        let meta = Meta::new(Arc::clone(&source) as _, Limits::default());
        let mut out = Vec::new();
        let give = &mut |_: &[u8], child| {
            out.push(child);
            Ok(())
        };
        v1(&meta, 0, 0, 8, give).unwrap();
        assert_eq!(out, (0..200).collect::<Vec<u64>>());
        assert_eq!(source.1.load(Ordering::Relaxed), 3, "one round for each level");
    }

    fn summed(mut data: Vec<u8>) -> Vec<u8> {
        let sum = lookup3(&data);
        data.extend(sum.to_le_bytes());
        data
    }

    #[test]
    fn a_new_tree_in_circles() {
        // Nodes of 64 bytes with records of 4: a root with two records and three times the same leaf.
        let mut head = b"BTHD\x00\x05".to_vec();
        head.extend(64u32.to_le_bytes());
        head.extend(4u16.to_le_bytes());
        head.extend(1u16.to_le_bytes());
        head.extend([100, 40]);
        head.extend(100u64.to_le_bytes());
        head.extend(2u16.to_le_bytes());
        head.extend(5u64.to_le_bytes());
        let mut inner = b"BTIN\x00\x05".to_vec();
        inner.extend([1; 8]);
        for leaf in [200u64, 200, 200] {
            inner.extend(leaf.to_le_bytes());
            inner.push(1);
        }
        let mut leaf = b"BTLF\x00\x05".to_vec();
        leaf.extend([2; 4]);
        let mut data = summed(head);
        data.resize(100, 0);
        data.extend(summed(inner));
        data.resize(200, 0);
        data.extend(summed(leaf));
        let mut seen = 0;
        let walked = v2(&meta(data), 0, 5, &mut |record| {
            seen += record.len();
            Ok(())
        });
        assert!(walked.unwrap_err().to_string().contains("goes in circles, at address 200"));
        assert_eq!(seen, 12);
    }
}
