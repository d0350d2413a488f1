//! Storyboards of the whole cluster: `tests/scripts/<area>/<name>.txt`.
//!
//! `UPDATE_EXPECT=1 cargo test -p terrarium-tests scripts` rewrites what comes after `----`; read
//! the difference before you believe it.

use std::path::{Path, PathBuf};
use terrarium_tests::storyboard::Storyboard;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn scripts() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts"))
}

#[test]
fn every_storyboard_comes_out_as_written() {
    let only = std::env::var("STORYBOARD").unwrap_or_default();
    for path in scripts() {
        if !path.to_string_lossy().contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the storyboard can be read");
        let script = text.split("\n----").next().unwrap_or_default();
        let shown = Storyboard::parse(&text)
            .and_then(|board| board.run())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!shown.is_empty(), "{} shows nothing", path.display());
        let whole = format!("{}\n----\n{shown}", script.trim_end());
        expect_test::expect_file![&path].assert_eq(&whole);
    }
}
