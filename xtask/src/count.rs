//! How many tests passed and failed, read from what test runners print.

/// Tests that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl Count {
    /// The outcome of a check that is no test of its own, like a lint run.
    pub(crate) fn check(ok: bool) -> Self {
        Self {
            passed: usize::from(ok),
            failed: usize::from(!ok),
        }
    }

    /// Adds up the closing lines of libtest and of wasm-bindgen's runner, both
    /// `test result: ok. 3 passed; 0 failed; …`. A run that failed without such a line, say since it
    /// did not compile, counts as one failure; so does a run that went well but ran nothing.
    pub(crate) fn tests(output: &str, ok: bool) -> Self {
        let results = output
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("test result: "));
        let mut count = Self::default();
        for result in results {
            count.passed += before(result, " passed");
            count.failed += before(result, " failed");
        }
        let silent = !ok && count.failed == 0;
        let empty = ok && count == Self::default();
        Self {
            failed: count.failed + usize::from(silent || empty),
            ..count
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
        }
    }

    /// The closing line by which machines know that tests ran.
    pub(crate) fn line(self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number that stands before a word.
fn before(line: &str, word: &str) -> usize {
    let number = line
        .split(word)
        .next()
        .and_then(|part| part.rsplit(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
