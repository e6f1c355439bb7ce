//! The tests of the kernel's public interface, in one program.
//!
//! With a program for each file, each program is linked separately and compiles the kernel's generic code again.

mod common;
#[path = "common/filters.rs"]
mod filtering;
#[path = "common/protobuf.rs"]
mod message;
#[path = "common/poison.rs"]
mod odd;

mod avro_versions;
mod backlog;
mod bad_rows;
mod bookies;
mod chunks;
mod damage;
mod digest;
mod encryption;
mod entries;
mod filtered_entries;
mod filters;
mod frames;
mod json;
mod json_text;
mod json_values;
mod kept_payloads;
mod key_filters;
mod key_values;
mod map_file;
mod offloaded_golden;
mod poison;
mod producing;
mod protobuf_decode;
mod protobuf_encode;
mod protobuf_versions;
mod route;
mod tiered;
mod transaction_ids;
mod transactions;
mod unopened;
mod values;
mod wire;
