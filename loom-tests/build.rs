//! Builds these sources on loom; a cfg, not a feature, so that no dependent can switch it on.

fn main() {
    println!("cargo::rustc-cfg=stockade_loom");
    println!("cargo::rerun-if-changed=build.rs");
}
