//! Routing of messages to partitions, which must equal the routing of the Java client.
//!
//! The hash of a key is `String.hashCode`.

use _kernel::encode::route::{Hashing, java_string_hash, partition_of_key};
use _kernel::selection::key_slot::murmur3_32;

#[test]
fn routing_equals_the_java_client() {
    let known = [
        ("", 0, 0),
        ("a", 97, 6),
        ("key-1", 101_943_363, 4),
        ("user-42", -147_182_656, 4),
        ("Zürich", -1_482_116_162, 0),
        ("😀", 1_772_899, 2),
        ("polygenelubricants", i32::MIN, 0),
        ("hello world", 1_794_106_052, 4),
    ];
    for (text, hash, partition_of_seven) in known {
        assert_eq!(java_string_hash(text), hash, "{text}");
        assert_eq!(partition_of_key(text, 7), partition_of_seven, "{text}");
    }
}

/// The expected hashes are known results of MurmurHash3_x86_32 with seed 0.
#[test]
fn murmur3_hashes_equal_known_results() {
    let known = [
        ("", 0),
        ("a", 0x3c25_69b2),
        ("ab", 0x9bbf_d75f),
        ("abc", 0xb3dd_93fa),
        ("abcd", 0x43ed_676a),
        ("hello", 0x248b_fa47),
        ("hello, world", 0x149b_bb7f),
        ("The quick brown fox jumps over the lazy dog", 0x2e4f_f723),
    ];
    for (text, hash) in known {
        assert_eq!(murmur3_32(text.as_bytes()), hash, "{text}");
        let partition = Hashing::Murmur3.partition_of(text, 7);
        assert_eq!(partition, (hash & 0x7fff_ffff) as usize % 7, "{text}");
    }
}
