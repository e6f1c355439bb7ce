//! Protobuf's variable-length numbers, compared with the definition of the format, written and read.

use _kernel::wire::{WireFields, WireValue, put_number, put_varint};

fn one_by_one(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

#[test]
fn numbers_of_every_length_are_written_and_read() {
    let check = |value: u64| {
        let mut out = vec![0xaa];
        put_varint(&mut out, value);
        assert_eq!(out[1..], one_by_one(value), "{value:#x}");
        for field in [1, 15, 16, 300] {
            let mut out = Vec::new();
            put_number(&mut out, field, value);
            let mut fields = WireFields::new(&out);
            assert_eq!(fields.next_field().unwrap(), Some((field, WireValue::Varint(value))));
            assert_eq!(fields.next_field().unwrap(), None);
        }
    };
    (0..70_000).for_each(check);
    for bits in 0..64 {
        for pattern in [u64::MAX, 0x0123_4567_89ab_cdef, 0x5555_5555_5555_5555, 0xfedc_ba98_7654_3210] {
            check(pattern >> bits);
            check((1 << bits) ^ (pattern >> 63));
            check((1u64 << bits).wrapping_sub(1));
        }
    }
}
