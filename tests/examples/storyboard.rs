//! Runs a storyboard from a file and prints what it shows:
//! `cargo run -p terrarium-tests --example storyboard -- seed.txt`.

use std::io::Write as _;
use terrarium_tests::storyboard::Storyboard;

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let shown = Storyboard::parse(&text)?.run()?;
    std::io::stdout()
        .write_all(shown.as_bytes())
        .map_err(|error| error.to_string())
}
