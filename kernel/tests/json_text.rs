//! JSON numbers and texts, compared with `serde_json`, which writes the shortest form of each number.

use _kernel::encode::json::text::{Token, put_bool, put_double, put_float, put_long, put_text, put_text_at};

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before ".to_vec();
    write(&mut out);
    String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
}

/// Return numbers that are the same in every run (splitmix64).
fn numbers() -> impl Iterator<Item = u64> {
    (1..200_000u64).map(|n| {
        let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[test]
fn integers_of_every_length_are_written() {
    let check = |value: i64| assert_eq!(written(|out| put_long(out, value)), value.to_string());
    for edge in (0..19).map(|power| 10i64.pow(power)).chain([0, i64::MAX, i64::MIN + 1]) {
        for near in [edge - 1, edge, edge.saturating_add(1)] {
            check(near);
            check(-near);
        }
    }
    check(i64::MIN);
    (0..100_000).for_each(check);
    numbers().for_each(|bits| check((bits as i64) >> (bits % 64)));
}

#[test]
fn doubles_have_their_shortest_form() {
    let check = |value: f64| {
        let expected = serde_json::to_string(&value).unwrap();
        assert_eq!(written(|out| put_double(out, value)), expected, "{value:e}");
        assert_eq!(written(|out| put_double(out, -value)), serde_json::to_string(&-value).unwrap());
    };
    let edges =
        [0.0, 0.1, 0.3, 0.1 + 0.2, 1e-4, 9e-5, 1e-5, 4.35, 1.005, 1e11, 1e15, 1e16, 1e17, 1e21, 5e-324];
    edges.into_iter().chain([f64::MAX, f64::MIN_POSITIVE, f64::EPSILON, 2f64.powi(53)]).for_each(check);
    for near in [99_999_999_999.999_9_f64, 100_000_000_000.0, 9_007_199_254_740_993.0, 0.0001, 0.00005] {
        [near.next_down(), near, near.next_up()].into_iter().for_each(check);
    }
    for bits in numbers() {
        check(f64::from_bits(bits & !(0x7ff << 52)));
        let any = f64::from_bits(bits & !(1 << 63));
        if any.is_finite() {
            check(any);
        }
        // Decimals with a few digits after the point, and the doubles next to them.
        for place in [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6] {
            let decimal = (bits >> (12 + bits % 50)) as f64 / place;
            [decimal.next_up(), decimal, decimal.next_down().abs()].into_iter().for_each(check);
        }
    }
}

#[test]
fn floats_have_their_shortest_form() {
    for value in numbers().map(|bits| f32::from_bits(bits as u32)).filter(|value| value.is_finite()) {
        assert_eq!(written(|out| put_float(out, value)), serde_json::to_string(&value).unwrap());
    }
}

#[test]
fn infinity_and_not_a_number_are_written_by_name() {
    for (value, name) in [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")] {
        assert_eq!(written(|out| put_double(out, value)), format!("{name:?}"));
        assert_eq!(written(|out| put_float(out, value as f32)), format!("{name:?}"));
    }
    assert_eq!(written(|out| put_bool(out, true)), "true");
    assert_eq!(written(|out| put_bool(out, false)), "false");
}

/// The lengths are around the size of a block. Each kind of byte is at each position, and bytes may follow the text.
#[test]
fn texts_of_every_length_are_escaped() {
    for length in 0..70 {
        let plain: String = "añ漢0123456789/\u{7f}".chars().cycle().take(length).collect();
        let mut texts = vec![plain.clone()];
        for odd in ["\"", "\\", "\u{0}", "\u{1f}", "\n", "\t", "\r", "\u{8}", "\u{c}"] {
            let places = plain.char_indices().map(|(at, _)| at);
            texts.extend(places.map(|at| format!("{}{odd}{}", &plain[..at], &plain[at..])));
        }
        for text in texts {
            let expected = serde_json::to_string(&text).unwrap();
            assert_eq!(written(|out| put_text(out, &text)), expected);
            assert_eq!(written(|out| Token::key(&text).put(out)), format!(",{expected}:"));
            for suffix in ["", "x", "\"", &"y".repeat(40), &"\n".repeat(40)] {
                let data = format!("..{text}{suffix}");
                assert_eq!(written(|out| put_text_at(out, data.as_bytes(), 2, text.len())), expected);
            }
        }
    }
}
