//! How much memory this process has.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Of the tests of one program that look at its memory, one runs at a time.
#[allow(dead_code, reason = "a program with one such test needs it not")]
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// In KiB, where the system tells.
pub fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}
