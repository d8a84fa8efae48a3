//! What orders say of the next epoch is true.
#![allow(clippy::unwrap_used)]

use infeed_core::{Order, OrderExt, Recurrence};
use infeed_order::{
    Below, BlockShuffle, Buffer, ByLength, Concat, Global, Pick, Repeat, Sequential, Slice, SlidingShuffle,
    Weighted,
};
use std::sync::Arc;

fn rows(n: u64) -> Below {
    Arc::new(Sequential::new(0, [n / 2, n - n / 2]))
}

fn sorted(order: &dyn Order, epoch: u64) -> Vec<u64> {
    let mut rows = order.rows(epoch, 0..order.places());
    rows.sort_unstable();
    rows
}

#[test]
fn rows_come_back_as_often_as_orders_say() {
    let shuffled = || -> Below { Arc::new(Global::new(rows(40), 3)) };
    let cases: [(Below, Recurrence); 11] = [
        (rows(40), Recurrence::Once),
        (shuffled(), Recurrence::Once),
        (Arc::new(BlockShuffle::new(rows(40), 3, 2, Some(4)).unwrap()), Recurrence::Once),
        (Arc::new(SlidingShuffle::new(rows(40), 3, 2, Some(4)).unwrap()), Recurrence::Once),
        (Arc::new(Buffer::new(rows(40), 3, 5, 2).unwrap()), Recurrence::Once),
        (Arc::new(ByLength::new(shuffled(), Arc::from([1; 40]), 8, 2, 3).unwrap()), Recurrence::Once),
        (Arc::new(Global::new(Arc::new(Pick::new(rows(40), vec![3, 3, 5]).unwrap()), 3)), Recurrence::Same),
        (Arc::new(Concat::new(vec![rows(40), shuffled()]).unwrap()), Recurrence::Same),
        (Arc::new(Global::new(Arc::new(Repeat::new(rows(40), 2).unwrap()), 3)), Recurrence::Same),
        (Arc::new(Slice::python(shuffled(), Some(0), Some(9), None).unwrap()), Recurrence::Own),
        (Arc::new(Weighted::new(rows(40), &[1.0; 40], None, true, 3).unwrap()), Recurrence::Own),
    ];
    for (order, want) in cases {
        let (first, second) = (sorted(&order, 0), sorted(&order, 1));
        assert_eq!(order.recurrence(), want, "{}", order.describe());
        assert_eq!(first == second, want != Recurrence::Own, "{}", order.describe());
        if want == Recurrence::Once {
            assert_eq!(first, (0..40).collect::<Vec<_>>(), "{}", order.describe());
        }
    }
}
