//! The order in which Java's hash maps hand out their entries.
//!
//! Some assignors walk a `HashMap` and let the first member win. That order is no accident: it
//! follows from the hashes of the keys and from the size of the table, so it can be computed.

/// `String.hashCode`.
pub fn string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

/// `Uuid.hashCode`, of the two halves of a topic id.
pub fn uuid_hash(most: u64, least: u64) -> i32 {
    let mixed = most ^ least;
    let halves = (mixed >> 32) ^ mixed;
    u32::try_from(halves & u64::from(u32::MAX))
        .unwrap_or_default()
        .cast_signed()
}

/// `TopicPartition.hashCode`.
pub(super) fn partition_hash(topic_hash: i32, partition: u32) -> i32 {
    31_i32
        .wrapping_add_unsigned(partition)
        .wrapping_mul(31)
        .wrapping_add(topic_hash)
}

/// The slots of a table that held so many keys at most and began with `capacity` slots.
pub fn table_capacity(key_count: usize, capacity: u32) -> u32 {
    let mut capacity = capacity;
    while u64::from(capacity) * 3 < 4 * key_count as u64 {
        capacity *= 2;
    }
    capacity
}

/// The slots that a `HashSet` copied from a collection of this size begins with.
pub fn copy_capacity(key_count: usize) -> u32 {
    let wanted = u32::try_from(key_count * 4 / 3 + 1).unwrap_or(1 << 30);
    wanted.max(16).next_power_of_two()
}

/// The slot of a hash.
pub fn slot(hash: i32, capacity: u32) -> u32 {
    let hash = hash.cast_unsigned();
    (hash ^ (hash >> 16)) & (capacity - 1)
}

/// The order in which a map hands out keys with these hashes, listed as they were put in: by slot,
/// within a slot as they were put in. Such a map starts with 16 slots and doubles when it is filled
/// to three quarters.
///
/// # Source
/// `java.util.HashMap`, as a black box: what its iteration yields.
/// # Simplified
/// A slot that holds eight keys or more becomes a tree in Java, which can bring another key to its
/// front.
pub fn map_order(hashes: &[i32], capacity: u32) -> Vec<u32> {
    let capacity = table_capacity(hashes.len(), capacity);
    let mut keys: Vec<(u32, u32)> = (0_u32..)
        .zip(hashes)
        .map(|(index, hash)| (slot(*hash, capacity), index))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, index)| index).collect()
}
