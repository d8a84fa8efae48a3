//! Opening a shelf.

use super::{
    super::{options::CacheOptions, space, users::User},
    state::{Places, State},
};
use std::{fs::File, io, path::Path};

/// Prepares a folder and a shelf in it.
pub(super) fn begin(
    root: &Path,
    key: u128,
    about: &[u8],
    options: &CacheOptions,
    places: &Places,
) -> io::Result<(State, (File, User), u64)> {
    let open = |alone| {
        let mut state = State::open(root.to_owned(), key, options.limit.unwrap_or(u64::MAX), places)?;
        if alone {
            state.recount(places)?;
        }
        Ok(state)
    };
    let (user, mut state) = User::new(root, options.keeps(), open)?;
    let limit = options.limit.unwrap_or_else(|| {
        let all = space::free(root).unwrap_or(0).saturating_add(state.used());
        if options.in_memory() { all / 2 } else { all / 5 * 4 }
    });
    state.set_limit(limit);
    let own = state.enter(about, places)?;
    state.note_use();
    if !options.keeps() {
        // What killed processes have left takes memory that nobody else can use.
        state.sweep(false, places)?;
    }
    Ok((state, (own, user), limit))
}
