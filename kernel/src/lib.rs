//! Pulsar entries to Arrow record batches and back.
//!
//! Everything that happens once per message happens here, and nothing else does: no socket, no clock,
//! no thread. `python` (behind the feature of that name) is the only module that knows an interpreter;
//! the rest is plain Rust and is tested without one.
//!
//! Reading: [`frame`] splits what a broker sends, [`bookie`] what bookies send, [`entry`] finds metadata and
//! payload in an entry, [`decode`] turns messages into columns. Writing: [`encode`] turns columns into SEND frames.
#![deny(unsafe_code)]
#![deny(missing_docs)]

pub mod avro_schema;
pub mod backlog;
pub mod bookie;
pub mod compression;
pub mod conform;
pub mod decode;
pub mod encode;
pub mod encryption;
pub mod entry;
pub mod error;
pub mod frame;
pub mod metadata;
pub mod origin;
pub mod payload_schema;
pub mod protobuf;
#[cfg(feature = "python")]
mod python;
pub mod selection;
pub mod tiered;
pub mod wire;

pub use error::{ErrorKind, KernelError};
