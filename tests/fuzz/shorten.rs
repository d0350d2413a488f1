//! A failure with as few actions as it needs.

use super::run;
use crate::storyboard::Storyboard;

/// The same storyboard with only those actions without which it would not fail, and how it fails
/// then. At most `tries` runs.
///
/// Ever smaller groups of actions are left out, as long as something still fails.
pub fn shorten(text: &str, faults_end_ms: u64, tries: u32) -> Option<(String, String)> {
    let mut what = failure(text, faults_end_ms)?;
    let is_action = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    let cast: Vec<&str> = text.lines().filter(|line| !is_action(line)).collect();
    let mut actions: Vec<&str> = text.lines().filter(is_action).collect();
    let whole = |actions: &[&str]| [cast.as_slice(), actions].concat().join("\n") + "\n";
    let mut left = tries;
    let mut size = actions.len().div_ceil(2);
    while 0 < size && 0 < left {
        let mut at = 0;
        while at < actions.len() && 0 < left {
            left -= 1;
            let mut fewer = actions.clone();
            fewer.drain(at..(at + size).min(actions.len()));
            match failure(&whole(&fewer), faults_end_ms) {
                Some(found) => {
                    what = found;
                    actions = fewer;
                }
                None => at += size,
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    Some((whole(&actions), what))
}

fn failure(text: &str, faults_end_ms: u64) -> Option<String> {
    let board = Storyboard::parse(text).ok()?;
    run(&board, faults_end_ms).err()
}
