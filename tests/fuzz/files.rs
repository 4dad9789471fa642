//! Fuzzes the input files of the command line: whatever the bytes, they are refused with a reason, or the result is
//! that of the sequential program.

#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../../cli/tests/support/any_files.rs"]
mod any_files;
#[allow(dead_code, reason = "only a part is used here")]
#[path = "../../cli/tests/support/sequential.rs"]
mod sequential;

use std::sync::LazyLock;

use any_files::AnyFiles;

/// Parses the arguments once, not for every input.
static FILES: LazyLock<AnyFiles> = LazyLock::new(|| {
    let folder = tempfile::tempdir_in("target/fuzz").unwrap().keep();
    AnyFiles::new(&folder)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| FILES.replay(bytes));
