//! A hash that is the same on every platform.

use std::hash::{Hash, Hasher};

/// Folds everything hashed into it to 64 bits, on 32-bit and 64-bit targets alike.
///
/// The standard `Hash` derive feeds `usize` and `isize` for lengths and discriminants; both are
/// widened here, so wasm32 and x86-64 agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// A digest of nothing.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Folds `value` in.
    pub fn fold<T: Hash + ?Sized>(&mut self, value: &T) {
        value.hash(self);
    }

    /// The digest so far.
    pub const fn value(self) -> u64 {
        self.0
    }

    fn mix(&mut self, word: u64) {
        let folded = u128::from(self.0 ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        let low = u64::try_from(folded & u128::from(u64::MAX)).unwrap_or_default();
        let high = u64::try_from(folded >> 64).unwrap_or_default();
        self.0 = low ^ high ^ word.rotate_left(17);
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher for Digest {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0_u8; 8];
            for (slot, byte) in word.iter_mut().zip(chunk) {
                *slot = *byte;
            }
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }
    fn write_u16(&mut self, value: u16) {
        self.mix(u64::from(value));
    }
    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.mix(u64::try_from(value).unwrap_or(u64::MAX));
    }
    fn write_i8(&mut self, value: i8) {
        self.write_i64(i64::from(value));
    }
    fn write_i16(&mut self, value: i16) {
        self.write_i64(i64::from(value));
    }
    fn write_i32(&mut self, value: i32) {
        self.write_i64(i64::from(value));
    }
    fn write_i64(&mut self, value: i64) {
        self.mix(u64::from_le_bytes(value.to_le_bytes()));
    }
    fn write_isize(&mut self, value: isize) {
        self.write_i64(i64::try_from(value).unwrap_or(i64::MAX));
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::Digest;

    #[test]
    fn the_digest_has_its_golden_value() {
        let mut digest = Digest::new();
        digest.fold(&(
            7_u32,
            -3_i64,
            "orders",
            Some(vec![1_u8, 2, 3]),
            true,
            5_usize,
        ));
        assert_eq!(
            digest.value(),
            GOLDEN,
            "the digest must not change between platforms"
        );
    }

    const GOLDEN: u64 = 16_372_268_492_876_150_424;
}
