#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| infeed_records::csv::fuzz_csv(data));
