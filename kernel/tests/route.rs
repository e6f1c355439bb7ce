//! Routing must equal the official Java client's. The hashes are those of
//! `String.hashCode`.

use _kernel::encode::route::{java_string_hash, partition_of_key};

#[test]
fn equals_java() {
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
