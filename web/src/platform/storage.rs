//! `localStorage`, which may be missing, full or blocked.

use std::fmt;

/// Why something could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageError {
    /// The browser forbids it: private mode, a sandboxed frame, a policy.
    Blocked,
    /// There is no room left.
    Full,
}

impl fmt::Display for StorageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Blocked => "the browser does not allow this page to store anything",
            Self::Full => "the browser's storage for this page is full",
        })
    }
}

/// Everything that this page stores begins with this; the number changes with the format.
pub(crate) const PREFIX: &str = "terrarium.v1.";

fn storage() -> Result<web_sys::Storage, StorageError> {
    match web_sys::window().map(|window| window.local_storage()) {
        Some(Ok(Some(storage))) => Ok(storage),
        _ => Err(StorageError::Blocked),
    }
}

/// What was kept under `key`, if anything.
///
/// # Errors
/// The storage cannot be read at all.
pub(crate) fn load(key: &str) -> Result<Option<String>, StorageError> {
    storage()?
        .get_item(&format!("{PREFIX}{key}"))
        .map_err(|_js| StorageError::Blocked)
}

/// Keeps `value` under `key`.
///
/// # Errors
/// Nothing was kept: what stood there before still stands.
pub(crate) fn save(key: &str, value: &str) -> Result<(), StorageError> {
    // Setting an item throws for two reasons; a storage that can still be read is merely full.
    let storage = storage()?;
    storage
        .set_item(&format!("{PREFIX}{key}"), value)
        .map_err(|_js| match storage.length() {
            Ok(count) if 0 < count => StorageError::Full,
            _ => StorageError::Blocked,
        })
}

/// Forgets what was kept under `key`.
pub(crate) fn remove(key: &str) {
    if let Ok(storage) = storage() {
        storage.remove_item(&format!("{PREFIX}{key}")).ok();
    }
}
