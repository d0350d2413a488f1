//! What the browser offers, each in a few plain functions.

pub(crate) mod clipboard;
pub(crate) mod download;
pub(crate) mod fetch;
pub(crate) mod keys;
pub(crate) mod media;
pub(crate) mod raf;
pub(crate) mod rescue;
pub(crate) mod rest;
pub(crate) mod router;
pub(crate) mod storage;
pub(crate) mod tip;
