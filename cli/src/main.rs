//! The `terrarium` command.
fn main() {}
