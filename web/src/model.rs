//! What the page knows, what can happen to it, and what follows: no browser in here.

pub(crate) mod effect;
pub(crate) mod inspect;
pub(crate) mod msg;
pub(crate) mod panels;
pub(crate) mod route;
pub(crate) mod saved;
pub(crate) mod ui;
pub(crate) mod update;
