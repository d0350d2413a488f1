//! Integration tests.

mod clients;
mod replay;
mod scripts;
mod seeds;
mod tables;
