//! Feeds `manifest`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = jackin_recovery_fuzz::manifest(bytes);
});
