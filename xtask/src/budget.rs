//! What a visitor downloads before the first lesson shows, and how much that may be.

use std::fmt;
use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

/// All that loads before the first lesson shows: 300 kB, as gzip sends it.
pub(crate) const LIMIT: usize = 300_000;

/// The parts of the first load, by the names of their files in `dist/`. What loads later (other
/// lessons, other languages, the service worker, declarations for editors) is not in here.
const FIRST_LOAD: &[Part] = &[
    Part {
        name: "page",
        pattern: "index.html",
        take: Take::All,
    },
    Part {
        name: "style",
        pattern: "*.css",
        take: Take::All,
    },
    Part {
        name: "script",
        pattern: "pkg/*.js",
        take: Take::All,
    },
    Part {
        name: "program",
        pattern: "pkg/*.wasm",
        take: Take::All,
    },
    Part {
        name: "inline scripts of wasm-bindgen",
        pattern: "pkg/snippets/*/*",
        take: Take::All,
    },
    Part {
        name: "first lesson",
        pattern: "lessons/*.toml",
        take: Take::Largest,
    },
    Part {
        name: "its texts, one language",
        pattern: "lessons/strings/*/*",
        take: Take::Largest,
    },
    Part {
        name: "icons",
        pattern: "*.svg",
        take: Take::All,
    },
];

/// One line of the table above.
#[derive(Debug, Clone, Copy)]
struct Part {
    name: &'static str,
    pattern: &'static str,
    take: Take,
}

/// Which of the files that a pattern fits load at first.
#[derive(Debug, Clone, Copy)]
enum Take {
    All,
    /// One of them; the largest, to be on the safe side.
    Largest,
}

/// A file of the site, by its path in it, and its size as gzip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub(crate) path: String,
    pub(crate) gzip: usize,
}

/// The first load, weighed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bill {
    lines: Vec<(&'static str, Weighed)>,
    total: usize,
}

impl Bill {
    pub(crate) fn of(site: &[Weighed]) -> Self {
        let mut lines = Vec::new();
        for part in FIRST_LOAD {
            let fitting = site.iter().filter(|file| fits(part.pattern, &file.path));
            let taken: Vec<&Weighed> = match part.take {
                Take::All => fitting.collect(),
                Take::Largest => fitting.max_by_key(|file| file.gzip).into_iter().collect(),
            };
            lines.extend(taken.into_iter().map(|file| (part.name, file.clone())));
        }
        let total = lines.iter().map(|(_, file)| file.gzip).sum();
        Self { lines, total }
    }

    pub(crate) fn is_within_limit(&self) -> bool {
        self.total <= LIMIT
    }
}

impl fmt::Display for Bill {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "Before the first lesson shows, as gzip:")?;
        for (name, file) in &self.lines {
            writeln!(out, "  {:>9}  {name}: {}", kilobytes(file.gzip), file.path)?;
        }
        write!(
            out,
            "  {:>9}  in all, of {} allowed",
            kilobytes(self.total),
            kilobytes(LIMIT)
        )
    }
}

/// The files that a browser loaded at first (a path a line) and that the table does not know.
pub(crate) fn not_billed(loaded: &str) -> Vec<&str> {
    let known = |path: &str| FIRST_LOAD.iter().any(|part| fits(part.pattern, path));
    loaded.lines().filter(|path| !known(path)).collect()
}

/// The size of some bytes as gzip at its best sends them.
pub(crate) fn gzip_size(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

/// True if a path fits a pattern, in which `*` stands for any letters but a slash.
fn fits(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, after)) => path.strip_prefix(before).is_some_and(|rest| {
            let end = rest.find('/').unwrap_or(rest.len());
            let cuts = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
            cuts.filter(|at| *at <= end)
                .any(|at| rest.get(at..).is_some_and(|rest| fits(after, rest)))
        }),
    }
}

fn kilobytes(bytes: usize) -> String {
    format!("{}.{} kB", bytes / 1000, bytes % 1000 / 100)
}

#[cfg(test)]
mod tests;
