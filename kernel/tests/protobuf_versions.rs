//! Protobuf schema versions: readable plans, and versions that a plan can read.

use crate::message::*;
use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::error::{ErrorKind, KernelError};

fn reads(from: &str, to: &str) -> Result<(), KernelError> {
    Decoder::new(options_of(&[]))?.add_writer_schema(b"1", &schema(&PLAN.replacen(from, to, 1)))
}

#[test]
fn versions_are_compatible_by_the_rules_of_protobuf() {
    let id = r#""number": 1, "kind": "int32", "shape": "implicit", "absent": "0""#;
    for kind in ["uint32", "int64", "uint64", "bool", "enum"] {
        reads(id, &format!(r#""number": 1, "kind": "{kind}", "shape": "optional""#)).expect(kind);
    }
    reads(id, r#""number": 99, "kind": "string", "shape": "optional""#).expect("a field that is gone");
    reads(r#""name": "id""#, r#""name": "renamed""#).expect("names do not matter");
    reads(r#""kind": "string", "shape": "optional""#, r#""kind": "bytes", "shape": "repeated""#)
        .expect("bytes");
    reads(r#""number": 4, "kind": "message", "type": 1"#, r#""number": 4, "kind": "bytes""#).expect("opaque");
    // A writer's type may contain itself, because the reader does not read it.
    reads(r#"{"name": "names", "number": 2,"#, r#"{"name": "self", "number": 7, "kind": "message", "type": 1, "shape": "optional"}, {"name": "names", "number": 2,"#).expect("recursive");
    for (to, got) in [
        (r#""number": 1, "kind": "sint32", "shape": "optional""#, "sint32"),
        (r#""number": 1, "kind": "fixed32", "shape": "optional""#, "fixed32"),
        (r#""number": 1, "kind": "int32", "shape": "repeated", "packed": true"#, "packed repeated int32"),
    ] {
        let error = reads(id, to).expect_err(got);
        assert_eq!(error.kind, ErrorKind::Schema);
        let expected = format!("field id (number 1): expected int32 as in schema version 3, got {got}");
        assert_eq!(error.message, expected);
    }
    let nested = reads(
        r#"{"name": "x", "number": 1, "kind": "int64""#,
        r#"{"name": "y", "number": 1, "kind": "double""#,
    );
    assert!(nested.unwrap_err().message.starts_with("field inner.x (number 1): expected int64"));
}

#[test]
fn invalid_plans_are_refused() {
    for (from, to) in [
        (r#""number": 1,"#, r#""number": 0,"#),
        (r#""number": 1,"#, r#""number": 536870912,"#),
        (r#""kind": "int32""#, r#""kind": "int33""#),
        (r#""shape": "implicit""#, r#""shape": "round""#),
        (r#""absent": "0""#, r#""absent": "x""#),
        (r#""type": 1"#, r#""type": 17"#),
        (r#""oneof": 0"#, r#""oneof": 1"#),
        (r#""meaning": "timestamp""#, r#""meaning": "noon""#),
        (r#""name": "key", "number": 1"#, r#""name": "key", "number": 3"#),
        (r#"["HIGH", 2]"#, r#"["HIGH"]"#),
        (
            r#"{"name": "names", "number": 2, "kind": "string""#,
            r#"{"name": "names", "number": 2, "kind": "message", "type": 1"#,
        ),
        (PLAN, "{}"),
        (PLAN, "x"),
    ] {
        assert_ne!(PLAN.replacen(from, to, 1), PLAN, "{from}");
        let options = DecoderOptions { value: schema(&PLAN.replacen(from, to, 1)), ..options_of(&[]) };
        assert_eq!(Decoder::new(options).err().map(|e| e.kind), Some(ErrorKind::Schema), "{to}");
    }
}
