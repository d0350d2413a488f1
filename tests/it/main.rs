//! Integration tests.

mod clients;
mod incidents;
mod replay;
mod scripts;
mod seeds;
mod tables;
