//! Feeds `git`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = jackin_recovery_fuzz::git(bytes);
});
