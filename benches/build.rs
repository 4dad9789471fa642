//! Tells the figures program by which compiler it was built.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok().and_then(|it| String::from_utf8(it.stdout).ok());
    println!("cargo::rustc-env=STOCKADE_RUSTC={}", version.as_deref().unwrap_or("unknown rustc").trim());
}
