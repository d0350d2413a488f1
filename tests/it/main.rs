//! Integration tests.

mod replay;
mod scripts;
mod seeds;
