//! Pulsar entries to Arrow record batches and back.
//!
//! The crate does only the work that is repeated for each message. The crate opens no sockets, reads no clock
//! and starts no threads. Only the module `python`, which the feature of that name enables, uses an
//! interpreter. All other modules are plain Rust, and their tests need no interpreter.
//!
//! To read, [`frame`] splits the bytes of a broker and [`bookie`] the bytes of bookies. [`entry`] finds
//! metadata and payload in an entry, and [`decode`] turns messages into columns. To write, [`encode`] turns
//! columns into SEND frames.
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
