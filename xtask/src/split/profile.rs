//! What the first load runs, as `xtask/first-load.txt` keeps it: one function a line, with its name,
//! how many segments it has, and which of them run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context, Result};

/// Which segments of which functions run until the first lesson stands.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    /// By the function's name and the number of its segments: copies of one name are told apart by
    /// that, and where it does not suffice, what runs in either counts for both.
    functions: BTreeMap<(String, usize), Vec<bool>>,
    names: BTreeSet<String>,
}

/// What the first load needs of a function.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Needed<'a> {
    /// Nothing: it does not run.
    Nothing,
    /// It runs, but has changed since the profile was made.
    All,
    /// These segments.
    Segments(&'a [bool]),
}

impl Profile {
    /// Notes what ran of a function.
    pub(crate) fn add(&mut self, name: &str, ran: &[bool]) {
        if !ran.contains(&true) {
            return;
        }
        let name = short(name);
        self.names.insert(name.clone());
        let known = self.functions.entry((name, ran.len()));
        let known = known.or_insert_with(|| vec![false; ran.len()]);
        for (known, ran) in known.iter_mut().zip(ran) {
            *known |= ran;
        }
    }

    pub(crate) fn needed(&self, name: &str, segments: usize) -> Needed<'_> {
        let name = short(name);
        // Which keys a hash map compares depends on addresses, and those on the marks.
        let is_known = self.names.contains(&name) || name.contains(BY_ADDRESS);
        let key = (name, segments);
        let ran = self.functions.get(&key);
        let (name, _) = key;
        match ran {
            Some(ran) if !name.contains(BY_ADDRESS) => Needed::Segments(ran),
            Some(_) => Needed::All,
            None if is_known => Needed::All,
            None => Needed::Nothing,
        }
    }

    /// How many functions run.
    pub(crate) fn len(&self) -> usize {
        self.functions.len()
    }

    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut profile = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let parts: Vec<&str> = line.split('\t').collect();
            let [name, count, ran] = parts[..] else {
                anyhow::bail!("line {number}: a name, a number and digits, with tabs between");
            };
            let count = count.parse().with_context(|| format!("line {number}"))?;
            let ran = unhex(ran, count).with_context(|| format!("line {number}"))?;
            profile.add(name, &ran);
        }
        Ok(profile)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((name, count), ran) in &self.functions {
            writeln!(formatter, "{name}\t{count}\t{}", hex(ran))?;
        }
        Ok(())
    }
}

/// Part of the names of functions of hash maps.
const BY_ADDRESS: &str = "hashbrown::";

/// Four segments a digit, the first in its lowest bit.
fn hex(ran: &[bool]) -> String {
    let digit = |four: &[bool]| {
        let bits = four
            .iter()
            .enumerate()
            .map(|(bit, ran)| u32::from(*ran) << bit);
        char::from_digit(bits.sum(), 16).unwrap_or('0')
    };
    ran.chunks(4).map(digit).collect()
}

fn unhex(digits: &str, count: usize) -> Result<Vec<bool>> {
    let mut ran = Vec::with_capacity(count + 3);
    for digit in digits.chars() {
        let bits = digit.to_digit(16).context("not a hexadecimal digit")?;
        ran.extend((0..4).map(|bit| bits >> bit & 1 == 1));
    }
    anyhow::ensure!(ran.len() == count.div_ceil(4) * 4, "not {count} segments");
    ran.truncate(count);
    Ok(ran)
}

/// A name without what differs from one build to another: hashes of crates (`core[c5930c85a12de822]`)
/// and the numbers that tell copies apart (`eq[1]`, `eq.1736`).
fn short(name: &str) -> String {
    let mut parts = name.split('[');
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((inside, after)) if is_hash(inside) => short.push_str(after),
            _ => {
                short.push('[');
                short.push_str(part);
            }
        }
    }
    let end = short.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let end = end.strip_suffix('.').map(str::len);
    short.truncate(end.unwrap_or(short.len()));
    short.replace(['\t', '\n'], " ")
}

fn is_hash(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{Needed, Profile, short};

    #[test]
    fn a_profile_is_read_as_it_was_written() {
        let mut profile = Profile::default();
        let ran = [true, false, false, true, true];
        profile.add("core[c5930c85a12de822]::fmt::write[1]", &ran);
        profile.add("never", &[false, false]);
        let again = Profile::parse(&profile.to_string()).unwrap();
        assert_eq!(
            again.needed("core[00]::fmt::write.17", 5),
            Needed::Segments(&ran),
            "other hash"
        );
        assert_eq!(
            again.needed("core[00]::fmt::write", 6),
            Needed::All,
            "changed since"
        );
        assert_eq!(again.needed("never", 2), Needed::Nothing, "never ran");
        for wrong in ["a\t3", "a\tb\t1", "a\t5\t1", "a\t4\tx"] {
            assert!(Profile::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arrays_in_names_stay() {
        assert_eq!(short("<[u8; 4] as a[12]::B>::c.3"), "<[u8; 4] as a::B>::c");
    }
}
