//! `terrarium check`: whether lessons keep what they promise.

use crate::{Ending, Failure, load};
use clap::Args;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use terrarium_core::base::config::nearest;
use terrarium_core::lesson::catalog::Catalog;
use terrarium_core::lesson::grade::{self, CheckedRun};

/// What `terrarium check` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Lesson files. A file called index.toml is the catalog of the lessons beside it.
    #[arg(required = true)]
    pub files: Vec<String>,
}

/// Prints one line a run, and beneath it what is wrong.
///
/// # Errors
/// Every fault in files that cannot be read as lessons, after the others have been checked.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    let mut faults = Vec::new();
    let mut ending = Ending::Met;
    for path in &options.files {
        if Path::new(path)
            .file_name()
            .is_some_and(|name| name == CATALOG)
        {
            match check_catalog(path) {
                Ok(()) => writeln!(output, "ok    {path}: every lesson is listed")?,
                Err(Failure::Input(more)) => faults.extend(more),
                Err(other) => faults.push(other.to_string()),
            }
            continue;
        }
        match load::lesson(path) {
            Ok(lesson) => {
                for checked in grade::check(&lesson) {
                    let word = if checked.faults.is_empty() {
                        "ok"
                    } else {
                        "FAULT"
                    };
                    writeln!(output, "{word:5} {path}: {}", checked.run)?;
                    if matches!(checked.run, CheckedRun::Wrong(_)) || !checked.faults.is_empty() {
                        for (goal, verdict) in &checked.goals {
                            writeln!(output, "      goal {goal}: {verdict}")?;
                        }
                    }
                    for fault in &checked.faults {
                        ending = Ending::NotMet;
                        writeln!(output, "      {fault}")?;
                    }
                }
            }
            Err(Failure::Input(more)) => faults.extend(more),
            Err(other) => faults.push(other.to_string()),
        }
    }
    if faults.is_empty() {
        return Ok(ending);
    }
    output.flush()?;
    Err(Failure::Input(faults))
}

/// Whether a catalog lists the lessons beside it, all of them and no others.
fn check_catalog(path: &str) -> Result<(), Failure> {
    let parsed = Catalog::parse(path, &load::text(path)?);
    let catalog = parsed
        .map_err(|errors| Failure::Input(errors.iter().map(ToString::to_string).collect()))?;
    let folder = Path::new(path).parent().unwrap_or(Path::new("."));
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let mut files = BTreeSet::new();
    let unreadable = |error| Failure::File {
        path: folder.display().to_string(),
        error,
    };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let is_lesson = file
            .extension()
            .is_some_and(|extension| extension == "toml")
            && file.file_name().is_some_and(|name| name != CATALOG);
        if is_lesson && let Some(stem) = file.file_stem().and_then(|stem| stem.to_str()) {
            files.insert(stem.to_owned());
        }
    }
    let listed: BTreeSet<String> = catalog.lessons().map(ToString::to_string).collect();
    let missing = listed.difference(&files).map(|id| {
        let nearest = nearest(id, files.iter().map(String::as_str));
        let hint = nearest
            .map(|name| format!("; did you mean {name}?"))
            .unwrap_or_default();
        format!("{path}: there is no lesson {id} beside it{hint}")
    });
    let unlisted = files.difference(&listed);
    let unlisted = unlisted.map(|id| format!("{path}: the lesson {id} is not listed"));
    let faults: Vec<String> = missing.chain(unlisted).collect();
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::Input(faults))
    }
}

const CATALOG: &str = "index.toml";
