//! The page.

mod driver;
mod paint;
mod platform;
mod scene;
