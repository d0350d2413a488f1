//! What a visitor downloads before the first lesson shows, and how much that may be.

use std::fmt;
use std::io::Write;

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;

/// All that loads before the first lesson shows, as gzip sends it. The aim is 300 kB; until the
/// program has come down to it, this holds the line where it stands.
pub(crate) const LIMIT: usize = 540_000;

/// The parts of the first load: a name, the files in `dist/`, and which of them. The first lesson is
/// the one behind the question on the home page. What loads later (other lessons, other languages,
/// the service worker, declarations for editors) is not in here; a journey finds out what a browser
/// really loads, and `cargo xtask test` fails if that is more.
const FIRST_LOAD: &[(&str, &str, Take)] = &[
    ("page", "index.html", Take::All),
    ("manifest", "manifest.webmanifest", Take::All),
    ("style", "css/*.css", Take::All),
    ("icons", "icons/*.svg", Take::All),
    ("script", "boot.js", Take::All),
    ("script", "pkg/*.js", Take::All),
    ("program", "pkg/terrarium_web_bg.wasm", Take::All),
    ("list of lessons", "lessons/index.toml", Take::All),
    ("first lesson", "lessons/the-barrier.toml", Take::All),
    ("its texts", "strings/*/the-barrier.toml", Take::Largest),
    ("texts", "strings/*/index.toml", Take::Largest),
    ("texts", "strings/*/stage.toml", Take::Largest),
    ("texts", "strings/*/ui.toml", Take::Largest),
];

/// Which of the files that a pattern fits load at first.
#[derive(Debug, Clone, Copy)]
enum Take {
    All,
    /// One of them, by the page's language; the largest, to be on the safe side.
    Largest,
}

fn weight(files: &[&Weighed]) -> usize {
    files.iter().map(|file| file.gzip).sum()
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
        for (name, pattern, take) in FIRST_LOAD {
            let fitting = site.iter().filter(|file| fits(pattern, &file.path));
            let taken: Vec<&Weighed> = match take {
                Take::All => fitting.collect(),
                Take::Largest => fitting.max_by_key(|file| file.gzip).into_iter().collect(),
            };
            lines.extend(taken.into_iter().map(|file| (*name, file.clone())));
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

/// What a browser really loaded at first (a path a line), in one line.
pub(crate) fn really(loaded: &str, site: &[Weighed]) -> String {
    let seen: Vec<&str> = loaded.lines().collect();
    let files: Vec<&Weighed> = site
        .iter()
        .filter(|file| seen.contains(&file.path.as_str()))
        .collect();
    format!(
        "The browser loaded {} files at first, {} as gzip.",
        files.len(),
        kilobytes(weight(&files))
    )
}

/// The files that a browser loaded at first (a path a line) and that the table does not know.
pub(crate) fn not_billed(loaded: &str) -> Vec<&str> {
    let known = |path: &str| FIRST_LOAD.iter().any(|(_, pattern, _)| fits(pattern, path));
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
