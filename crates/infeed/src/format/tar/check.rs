//! Whether an index belongs to its tar: the header in front of a member says how long the member is.

use super::view::View;
use crate::layout::tar::header::{BLOCK, member_size};
use infeed_core::{Index, Shard, Store};

/// Members of a tar that are looked at.
const LOOKS: usize = 16;

/// Checks the header in front of a member of `len` bytes.
pub(super) fn header_fits(block: &[u8], len: u64) -> bool {
    // Some writers leave the size at zero where a PAX record has it.
    member_size(block).is_some_and(|size| size == len || size == 0)
}

/// Looks at some members of a tar whose index is older than its last change.
pub(super) fn fits(store: &dyn Store, shard: &Shard, index: &View<'_>) -> bool {
    let members = index.members();
    let step = members.div_ceil(LOOKS).max(1);
    let looked: Vec<usize> = (0..members).step_by(step).chain(members.checked_sub(1)).collect();
    let header = |member: &usize| {
        let start = index.range_of(*member).start;
        start.checked_sub(BLOCK).map(|header| header..start)
    };
    let Some(ranges) = looked.iter().map(header).collect::<Option<Vec<_>>>() else { return false };
    let Ok(blocks) = store.read(shard, &ranges) else { return false };
    looked.iter().zip(&blocks).all(|(member, block)| {
        let range = index.range_of(*member);
        header_fits(block, range.end - range.start)
    }) && index.rows() > 0
}
