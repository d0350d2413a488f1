//! The page.

#![expect(
    dead_code,
    reason = "the page's shell, which calls all this, comes with the next step"
)]

mod driver;
mod paint;
mod platform;
mod scene;
