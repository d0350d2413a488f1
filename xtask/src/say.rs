//! What a person reads: lines on stdout, complaints on stderr.
//!
//! A closed pipe (`cargo xtask test | head`) is no reason to panic, so failures to write are left
//! alone.

use std::io::Write;

/// Writes one line to stdout.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Writes one line to stderr, marked as an error.
pub(crate) fn complain(line: &str) {
    let mut out = std::io::stderr().lock();
    let _ = writeln!(out, "error: {line}").and_then(|()| out.flush());
}
