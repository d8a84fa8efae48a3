#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| infeed_records::npy::fuzz_npy(data));
