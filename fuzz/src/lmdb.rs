#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| infeed_records::lmdb::fuzz_lmdb(data));
