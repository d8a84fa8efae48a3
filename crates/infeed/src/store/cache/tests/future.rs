//! A whole cache that knows the order, against Belady's algorithm.

use super::*;

/// Every row once in each epoch, shuffled in blocks.
#[derive(Debug)]
struct Order {
    rows: Vec<u64>,
    row: u64,
    at: AtomicU64,
    of_epoch: u64,
}

impl Order {
    fn new(count: u64, block: u64, epochs: u64, row: u64) -> Arc<Order> {
        let shuffled = |mut items: Vec<u64>, epoch, stage| {
            let mut rng = Rng::at(11, epoch, 0, stage);
            for at in (1..items.len()).rev() {
                items.swap(at, rng.below(at as u64 + 1) as usize);
            }
            items
        };
        let epoch = |epoch| {
            let blocks = shuffled((0..count / block).collect(), epoch, 0);
            let inside = move |at| shuffled((at * block..(at + 1) * block).collect(), epoch, at + 1);
            blocks.into_iter().flat_map(inside).collect::<Vec<u64>>()
        };
        let rows = (0..epochs).flat_map(epoch).collect();
        Arc::new(Order { rows, row, at: AtomicU64::new(0), of_epoch: count })
    }
}

impl Foresight for Order {
    fn version(&self) -> u64 {
        self.at.load(Relaxed) / self.of_epoch
    }

    fn needed(&self, object: &Shard, bytes: &Range<u64>) -> Option<u64> {
        assert_eq!(&*object.name, "a");
        let next = ((self.version() + 1) * self.of_epoch) as usize;
        let rows = bytes.start / self.row..bytes.end.div_ceil(self.row);
        let epoch = self.rows.get(next..next + self.of_epoch as usize)?;
        Some(epoch.iter().filter(|row| rows.contains(row)).count() as u64 * self.row)
    }
}

/// Bytes fetched after the first epoch by Belady's algorithm on chunks of so many rows.
fn belady(order: &Order, per_chunk: u64, places: usize) -> u64 {
    let chunks: Vec<u64> = order.rows.iter().map(|row| row / per_chunk).collect();
    let (mut kept, mut fetched) = (Vec::new(), 0);
    for (at, chunk) in chunks.iter().enumerate() {
        if !kept.contains(chunk) {
            if at as u64 >= order.of_epoch {
                fetched += per_chunk * order.row;
            }
            kept.push(*chunk);
            if kept.len() > places {
                let next =
                    |chunk: &u64| chunks[at + 1..].iter().position(|c| c == chunk).unwrap_or(usize::MAX);
                let last = (0..kept.len()).max_by_key(|place| next(&kept[*place])).unwrap();
                kept.swap_remove(last);
            }
        }
    }
    fetched
}

#[test]
fn a_cache_with_foresight_fetches_what_belady_fetches() {
    const ROW: u64 = 1000;
    // Rows, rows of a block, rows of a chunk, share of the data that is kept, rows that are announced ahead.
    for (count, block, per_chunk, share, ahead) in [
        (256, 16, 8, 4, 0),
        (256, 16, 8, 2, 0),
        (512, 16, 8, 4, 6),
        (512, 16, 8, 2, 6),
        (200, 200, 1, 4, 0),
        (200, 200, 1, 2, 0),
        (400, 400, 1, 4, 6),
        (400, 400, 1, 2, 6),
        (256, 256, 8, 2, 0),
        (256, 256, 8, 2, 6),
    ] {
        let order = Order::new(count, block, 3, ROW);
        let (inner, shard, bytes) = one_object((count * ROW) as usize);
        let folder = tempfile::tempdir().unwrap();
        let chunk = per_chunk * ROW;
        let limit = count / per_chunk / share * file::file_bytes(chunk, chunk);
        let cache = open(&inner, folder.path(), chunk, limit);
        cache.set_future(Arc::clone(&order) as _);
        let mut first = 0;
        for (at, row) in order.rows.iter().enumerate() {
            if at as u64 == order.of_epoch {
                first = inner.bytes.load(Relaxed);
            }
            order.at.store(at as u64 + 1, Relaxed);
            let range = row * ROW..(row + 1) * ROW;
            if let Some(next) = order.rows.get(at + ahead).filter(|_| ahead > 0) {
                cache.will_read(&shard, &[next * ROW..(next + 1) * ROW]);
            }
            assert_eq!(
                cache.read_one(&shard, range.clone()).unwrap(),
                bytes[range.start as usize..range.end as usize]
            );
        }
        let fetched = inner.bytes.load(Relaxed) - first;
        let best = belady(&order, per_chunk, (count / per_chunk / share) as usize).min(belady(
            &order,
            1,
            (count / share) as usize,
        ));
        assert!(
            fetched as f64 <= best as f64 * 1.05,
            "blocks of {block}, chunks of {per_chunk}, 1/{share}, {ahead} ahead: {fetched} bytes, {best} with Belady's algorithm"
        );
        assert!(on_disk(folder.path()) <= limit);
    }
}

#[test]
fn without_a_future_epochs_larger_than_the_cache_hit_a_share() {
    let order = Order::new(200, 200, 6, 1000);
    let (inner, shard, _) = one_object(200_000);
    let folder = tempfile::tempdir().unwrap();
    let cache = open(&inner, folder.path(), 1000, 50 * file::file_bytes(1000, 1000));
    for (at, row) in order.rows.iter().enumerate() {
        cache.read_one(&shard, row * 1000..(row + 1) * 1000).unwrap();
        if at == 2 * 200 {
            inner.bytes.store(0, Relaxed);
        }
    }
    // 50 of 200 rows are kept, over four epochs.
    let fetched = inner.bytes.load(Relaxed);
    assert!(fetched <= 4 * 156_000, "{fetched}");
}
