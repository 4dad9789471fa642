//! Builds these sources with the test hooks in; a cfg, not a feature, so that no dependent can switch it on.

fn main() {
    println!("cargo::rustc-cfg=stockade_hooks");
    println!("cargo::rerun-if-changed=build.rs");
}
