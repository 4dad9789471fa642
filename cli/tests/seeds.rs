//! The input files that the fuzzer found worth keeping. See `tests/fuzz/run`; a file that it finds to fail belongs there, too.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "support/any_files.rs"]
mod any_files;
#[allow(dead_code, reason = "only a part is used here")]
#[path = "support/sequential.rs"]
mod sequential;

use std::fs;

#[test]
fn every_seed_of_the_fuzzer() {
    let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fuzz/seeds/files");
    let folder = tempfile::tempdir().unwrap();
    let files = any_files::AnyFiles::new(folder.path());
    let mut taken = 0;
    for seed in fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        println!("{}", path.display());
        files.replay(&fs::read(path).unwrap());
        taken += 1;
    }
    assert!(taken > 0);
}
