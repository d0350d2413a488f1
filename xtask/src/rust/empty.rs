//! An empty program: a toolchain that links it works.
