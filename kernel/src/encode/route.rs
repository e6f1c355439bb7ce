//! Which partition a message goes to: as the official Java client decides by default.

/// `java.lang.String.hashCode()` of UTF-8 text: over UTF-16 code units, wrapping.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Partition of a keyed message: JavaStringHash modulo the number of partitions, which must not be 0.
pub fn partition_of_key(text: &str, partitions: usize) -> usize {
    if partitions == 1 {
        return 0;
    }
    let hash = (java_string_hash(text) & i32::MAX) as usize;
    hash.checked_rem(partitions).unwrap_or(0)
}

/// Where messages without a key begin their round: differs between producers, so that many short-lived
/// ones do not all fill partition 0.
pub fn first_partition(producer_name: &str, partitions: usize) -> usize {
    partition_of_key(producer_name, partitions)
}
