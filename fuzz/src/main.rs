//! libFuzzer over one of the targets of the crate `infeed-fuzz`: the one that the environment variable `INFEED_TARGET` names.
#![no_main]

use std::sync::OnceLock;

static RUN: OnceLock<fn(&[u8])> = OnceLock::new();

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let run = RUN.get_or_init(|| {
        let name = std::env::var("INFEED_TARGET").unwrap_or_default();
        match infeed_fuzz::target(&name) {
            Some(target) => target.run,
            None => panic!("INFEED_TARGET={name} is no target: see TARGETS in crates/infeed-fuzz/src/lib.rs"),
        }
    });
    run(data);
});
