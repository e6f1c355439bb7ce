"""Interface of the Rust kernel, which decodes bytes to Arrow and encodes Arrow to bytes.

The kernel has no socket, no clock and no thread, and never calls back into Python. All work that is repeated for each
message is in the kernel. Every method with such work releases the interpreter lock. Only `codec` and, in `client`,
`bookkeeper` and `broker.transport` may import this module. docs/decisions explains which work belongs to the kernel and
which to Python.

A position is `(ledger, entry, batch_index)` of the next message to read. In a position, a message outside of a batch
has batch index 0. In `__messageId` such a message has batch index -1, as in Pulsar's own clients.
"""

from collections.abc import Set as AbstractSet
from typing import Protocol, TypeAlias

class ArrowSchemaExportable(Protocol):
    """An object with the schema method of the Arrow PyCapsule interface, such as `pyarrow.Schema`."""

    def __arrow_c_schema__(self) -> object: ...

class ArrowArrayExportable(Protocol):
    """An object with the array method of the Arrow PyCapsule interface, such as `pyarrow.RecordBatch`."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class PayloadSchema(Protocol):
    """The format of a payload, such as a `schema.payload.PayloadSchema`."""

    @property
    def value_type(self) -> str:
        """Name of the format.

        The primitive formats are "bytes", "string", "boolean", "int8", "int16", "int32", "int64", "float" and "double".
        Numbers are big endian, as in Pulsar's Java schemas. The record formats are "json", "avro" and "protobuf".
        "key_value" is a pair of two primitives or records.
        """

    @property
    def value_schema(self) -> ArrowSchemaExportable | None:
        """The Arrow fields of a record, derived from `definition`.

        For example, a field of the Avro type `timestamp-millis` is an Arrow field of type `timestamp[ms]`.
        """

    @property
    def definition(self) -> str | None:
        """The definition of a record: an Avro schema, or for Protobuf a plan from `schema.protobuf.plan`."""

    @property
    def pair(self) -> KeyValuePair | None:
        """The key and value schemas of the format "key_value"."""

class KeyValuePair(Protocol):
    """The schemas of a pair's key and value, such as a `schema.payload.KeyValuePair`."""

    @property
    def key(self) -> PayloadSchema: ...
    @property
    def value(self) -> PayloadSchema: ...
    @property
    def separated(self) -> bool:
        """True if the key is the message's key (SEPARATED) instead of a part of the payload (INLINE)."""

Position: TypeAlias = tuple[int, int, int]

class KernelError(Exception):
    """An error of the kernel. `codec` turns a kernel error into a `PulsarError` that names the topic.

    Attributes:
        kind: One of the kinds below.
        message: The expected value, the actual value, and the place.
        ledger: The ledger of the message that caused the error; -1 if no message caused the error.
        entry: The entry of the message that caused the error; -1 if no message caused the error.
        batch_index: The index of the message in its batch; -1 if the entry is no batch, or if the whole entry caused
            the error.
        row: The index of the row in the record batch that was passed to `Encoder.encode`; -1 for other calls.

    The kinds are:

    - "corrupt": The bytes are damaged: a checksum or length does not match, or decompression fails.
    - "payload": The bytes are undamaged, but a value does not match its schema.
    - "unsupported": The bytes are valid, but this version cannot decode them.
    - "encrypted": The message is encrypted, and none of the data keys decrypts the message.
    - "schema": A schema or Arrow schema cannot be used, or a schema version is unknown.
    - "too_large": One message exceeds the broker's maximum message size.

    """

    kind: str
    message: str
    ledger: int
    entry: int
    batch_index: int
    row: int

class EntryBatch:
    """A queue of complete entries, in the order of their `push` calls. The bytes are in Rust's memory."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def push(self, ledger: int, entry: int, data: bytes) -> None:
        """Add one entry.

        `data` has the format in which a bookie stores an entry. A MESSAGE frame contains the same bytes after its
        command: `[0e02 broker entry metadata] [0e01 crc32c] metadata size, MessageMetadata, payload`.
        """

    @property
    def nbytes(self) -> int: ...
    @property
    def num_messages(self) -> int:
        """Number of messages in the entries. Each message of a batch is counted, as in a broker's permits."""

    @property
    def published(self) -> tuple[int, int] | None:
        """The earliest and the latest publish time in Unix milliseconds; None if no entry has a publish time.

        Checksums are not verified.
        """

    @property
    def first(self) -> tuple[int, int] | None:
        """`(ledger, entry)` of the first entry; None if there are no entries."""

    @property
    def last(self) -> tuple[int, int] | None: ...

    unfiltered: bool
    """True if the entries were read from storage (a bookie or tiered storage) and not from a broker. A broker hides the
    messages of aborted transactions. In entries from storage, the `Decoder` hides these messages. The default is False.
    `Decoder.push` uses the value for all entries of the call."""

    def schema_versions(self) -> list[bytes]:
        """Return the distinct schema versions of the entries, in order of first appearance. `b""` means no version.

        Raises:
            KernelError: "corrupt" for an entry with a wrong checksum or malformed metadata.
        """

    def trim(self, start: Position, end: Position) -> None:
        """Remove the entries without any position in the range from `start` (inclusive) to `end` (exclusive)."""

    def gaps(self, following: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the gaps in the ids `(ledger, entry)`, beginning at the id `following`, in order.

        A gap is a pair: the first missing id, and the first existing id after the gap. If the ledger of `following` is
        negative, there is no gap before the first entry. A repeated id is no gap.
        """

    def origins(
        self,
    ) -> list[tuple[tuple[int, int], int | None, str | None, tuple[int, int] | None]]:
        """Return the id, the publish time and the replication source of each entry, in order.

        Checksums are not verified.

        Returns:
            Tuples of four parts:
            `(ledger, entry)` of the entry;
            the publish time of the entry in Unix milliseconds, or None if the entry is too damaged to find the time;
            the cluster from which the entry was replicated, or None if the entry was produced in this cluster;
            `(ledger, entry)` in the source cluster, or None if its replicator did not record these ids (Pulsar before
                3.0.11, 3.3.6, 4.0.4).

        """

    def unwrap_compacted(self, after: tuple[int, int] | None = None) -> None:
        """Replace each entry of a compacted ledger by the original entry inside, with its original id.

        Args:
            after: The original id of the entry before the first of these entries.

        Raises:
            KernelError: "corrupt" for an entry that does not contain an original entry, or whose original id is out of
                order.
        """

class Backlog:
    """The numbers of messages and bytes of a topic partition's entries. The object stores 24 bytes for each entry."""

    def __init__(self, *, published_from: int | None = None) -> None:
        """Create an empty backlog.

        Messages that were published before `published_from` (Unix milliseconds) are ignored.
        """

    def add(self, entries: EntryBatch) -> tuple[int, int]:
        """Count the entries after the last counted entry, and return the numbers of their messages and bytes.

        `entries` is empty afterwards. The following count as no message: a marker, and each chunk of a message except
        the last chunk. A damaged entry counts as one message.
        """

    def drop_before(self, position: Position) -> None:
        """Remove the entries before the entry that contains the position."""

    def take(
        self,
        start: Position,
        end: Position,
        *,
        messages: int = ...,
        nbytes: int = ...,
        at_least_one: bool = False,
    ) -> tuple[Position, int, int]:
        """Return the longest slice from `start` that meets both limits and ends at or before `end`.

        `start` is inclusive, and `end` is exclusive.

        The slice ends between two entries, with two exceptions. The limit `messages` may end the slice inside any
        entry. The limit `nbytes` may end the slice inside its first entry. The bytes of a batch are divided equally
        among its messages. If `at_least_one` is True, the slice contains the first message even if the message exceeds
        `nbytes`. If the first entry has no messages, the slice contains that entry.

        Returns:
            The end of the slice, the number of its messages, and the number of its bytes.

        """

class LedgerFrames:
    """The entries `first` to `last` (inclusive) of one ledger, read from the bytes of several bookies and put in order.

    The class uses version 2 of BookKeeper's binary protocol: READ_ENTRY (operation 2) and BATCH_READ (operation 7). The
    requests do not fence the ledger. The class verifies digests, and removes the headers that bookies add.
    """

    def __init__(
        self, ledger: int, first: int, last: int, *, digest: str | None, max_frame_bytes: int
    ) -> None:
        """Create a buffer. `digest` is CRC32C, CRC32 or DUMMY; None accepts both CRC32C and CRC32.

        Raises:
            KernelError: "unsupported" for another digest.

        """

    @property
    def next(self) -> int:
        """The first entry that `take` has not returned yet."""

    @property
    def buffered_bytes(self) -> int:
        """Number of buffered bytes of complete entries and of incomplete frames."""

    @property
    def groups(self) -> int:
        """Number of groups of two or more entries for which a bookie returned all entries."""

    def missing(self, first: int, stop: int, step: int, size: int = 1) -> int:
        """Return the number of entries that were not received yet, among groups of `size` consecutive entries.

        The groups begin at the entries in `range(first, stop, step)`. No group contains the entry `stop` or a later
        entry.
        """

    def read_requests(self, first: int, stop: int, step: int, size: int = 1) -> bytes:
        """Build a request for the missing entries of each group. The arguments are the same as for `missing`.

        A single entry is requested by READ_ENTRY, and several entries by BATCH_READ. `feed` treats the answer to such a
        BATCH_READ like answers to single requests.
        """

    def batch_request(self, first: int, stop: int, request_id: int, max_bytes: int) -> bytes:
        """Build one BATCH_READ request for the entries of the ledger in `range(first, stop)`."""

    def feed(self, connection: int, data: bytes) -> list[tuple[int | None, int, int, int]]:
        """Parse bytes that arrived on this connection.

        Returns:
            Tuples `(request id, entry, code, count)`. The codes are BookKeeper's. Code -1 means a wrong digest, or an
                entry that was not requested.
            An entry of `read_requests` that was not returned is `(None, entry, code, 0)`. The code is 0 if an earlier
                entry of the group failed, so that the bookie did not try this entry.
            An answer to `batch_request` is (request id, first entry, code, number of good entries). The code is 0 if
                nothing failed.

        Raises:
            KernelError: "corrupt" if the bytes are not an answer of a bookie to such a request. In this case close the
                connection and call `forget`.

        """

    def forget(self, connection: int) -> None:
        """Drop the incomplete frame of a closed connection."""

    def take(self) -> EntryBatch | None:
        """Remove and return the entries from `next` up to the first gap. Return None if the entry `next` is missing."""

class FrameDecoder:
    """A parser that splits the bytes of a broker connection into frames.

    The wire format is `u32 total size, u32 command size, BaseCommand[, rest]` (Pulsar binary protocol).
    The parser queues the entries in MESSAGE frames for consumers of `add_consumer`, and drops MESSAGE frames for other
    consumers. `feed` returns the BaseCommand of every other frame. The checksum of an entry is verified when the entry
    is decoded.
    """

    def __init__(self, max_frame_bytes: int) -> None: ...
    def feed(self, data: bytes) -> list[bytes]:
        """Parse bytes from the socket, and return the BaseCommand of each complete frame except MESSAGE frames.

        Raises:
            KernelError: "corrupt" for a frame longer than `max_frame_bytes`, or with contradictory lengths. After this
                error the connection cannot be used.

        """

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Remove and return all entries in the consumer's queue, oldest first. Return None if the queue is empty.

        A broker may deliver an entry twice. The `Decoder` filters such duplicates by its range.
        """

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """Return `(ledger, entry)` of the oldest entry in the consumer's queue, or None if the queue is empty."""

    def buffered_bytes(self) -> int:
        """Return the number of bytes of all queued entries."""

    def add_consumer(self, consumer_id: int) -> None:
        """Create a queue for the entries that arrive for the consumer."""

    def drop_consumer(self, consumer_id: int) -> None:
        """Remove the consumer and its queue. Later entries for the consumer are dropped."""

class StoredEntries:
    """The requested entries of a ledger, read from the bytes of its copy in tiered storage."""

    @property
    def start(self) -> int:
        """Offset of the first byte to pass to `feed`, in the object or file."""

    @property
    def end(self) -> int | None:
        """Offset after the last byte to pass to `feed`; None means the end of the file."""

    @property
    def next_entry(self) -> int:
        """The first requested entry that `feed` has not returned yet."""

    @property
    def is_done(self) -> bool:
        """True if all requested entries were returned. No more calls of `feed` are needed."""

    @property
    def has_more(self) -> bool:
        """True if the bytes that `feed` accepted contain more entries. If so, call `feed(b"")` next."""

    def feed(self, data: bytes) -> EntryBatch:
        """Parse the next bytes, and return the requested entries that are complete. `data` may have any size.

        A call returns at most about 16 MiB. The entries have contiguous ids and verified checksums.

        Raises:
            KernelError: "corrupt" for damaged bytes or a missing entry, after all earlier entries were returned. The
                error has the entry's id. "unsupported" for a format that this version cannot read.

        """

    def finish(self) -> None:
        """Declare that no more bytes follow.

        Raises:
            KernelError: "corrupt" unless `is_done`.

        """

class ObjectIndex:
    """The index object of an offloaded ledger, in version 1 of the format of Pulsar's offloader `jcloud`."""

    def __init__(self, ledger: int, data: bytes) -> None:
        """Parse the whole object.

        Raises:
            KernelError: "corrupt", "unsupported".

        """

    @property
    def data_length(self) -> int:
        """Number of bytes of the data object."""

    @property
    def last_entry(self) -> int:
        """The ledger's last entry, from the ledger's metadata."""

    @property
    def first_missing(self) -> int | None:
        """The first entry that the offloader did not copy; None if the index shows no missing entry."""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """The first entry and the offset of each block, in order."""

    def entries(self, first: int, last: int) -> StoredEntries:
        """Return a reader of the entries `first` to `last`, both inclusive.

        Raises:
            KernelError: "corrupt" if the ledger does not have these entries.

        """

class MapFile:
    """A ledger in the format of Pulsar's file system offloader: the Hadoop SequenceFiles `data` and `index`."""

    def __init__(self, ledger: int, data: bytes, index: bytes) -> None:
        """Parse the files: the first 64 KiB of `data`, and all of `index`.

        Raises:
            KernelError: "corrupt", "unsupported".

        """

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Pairs of a record's key and the file offset of the record or of its block, for some of the records, in order.

        The first key is -1.
        """

    def entries(self, first: int, last: int) -> StoredEntries:
        """Return a reader of the entries `first` to `last`, both inclusive."""

class RowFilter(Protocol):
    """A filter that selects messages by their metadata, such as a `codec.row_filter.RowFilter`.

    A property that is None selects all messages.

    A message that is not selected is never decoded, and needs no schema version. If an entry's metadata show that none
    of its messages is selected, the entry is not decompressed. Checksums are always verified. A chunked message is
    selected by the metadata of its last chunk.
    """

    @property
    def published_from(self) -> int | None:
        """The earliest publish time of selected messages, in Unix milliseconds."""

    @property
    def published_before(self) -> int | None:
        """The upper bound (exclusive) of the publish times of selected messages, in Unix milliseconds."""

    @property
    def event_from(self) -> int | None:
        """The earliest event time of selected messages, in Unix milliseconds."""

    @property
    def event_before(self) -> int | None:
        """The upper bound (exclusive) of the event times of selected messages, in Unix milliseconds.

        Messages without event time are selected.
        """

    @property
    def keys(self) -> AbstractSet[bytes] | None:
        """The keys of selected messages, as in `__key`."""

    @property
    def slots(self) -> tuple[int, int] | None:
        """The hash slots of selected messages: the first slot, and the slot after the last.

        There are 65536 slots, as in Key_Shared subscriptions. The slot is a hash of the message's ordering key. A
        message without an ordering key uses its key instead. A message with neither of them uses the producer name and
        sequence id of its entry.
        """

class IntakeOptions(Protocol):
    """The options for opening entries, such as a `codec.intake.Intake`."""

    @property
    def max_open_chunked(self) -> int:
        """The maximum number of incomplete chunked messages whose chunks are buffered; 0 means no limit.

        Above the limit, the chunks of the oldest message are dropped. These chunks are read again when the last chunk
        of the message arrives.
        """

    @property
    def crypto_failure_action(self) -> str:
        """The handling of an entry that cannot be decrypted.

        "FAIL" raises `KernelError` "encrypted", and "DISCARD" produces no row. "CONSUME" produces one row with batch
        index -1 and the encrypted payload. The row is a bad row unless the value type is "bytes". The property
        `__encryption` of the row describes the encryption as JSON.
        """

    @property
    def max_uncompressed(self) -> int | None:
        """The maximum size of the decompressed payload of an entry or a chunked message, in bytes. At most 1 GiB.

        None means 16 times the stored size, but at least 80 MiB.
        """

class DecoderOptions(Protocol):
    """The options of a `Decoder`, such as a `codec.decode.DecoderOptions`."""

    @property
    def output_schema(self) -> ArrowSchemaExportable:
        """The value and metadata columns of the returned record batches, in any order.

        Other columns are not decoded.

        The names of the metadata columns are `__key`, `__topic`, `__partition`, `__messageId`, `__publishTime`,
        `__eventTime`, `__messageProperties`, `__orderingKey`, `__producerName`, `__sequenceId`, `__schemaVersion`,
        `__messageSize`, `__replicatedFrom`, `__index` and `__brokerPublishTime`.
        """

    @property
    def topic(self) -> str:
        """The value of the column `__topic`: the topic's name without the partition suffix."""

    @property
    def partition(self) -> int:
        """Index of the partition; -1 for a topic without partitions."""

    @property
    def value(self) -> PayloadSchema:
        """The schema of the value.

        A primitive has one value column, `value`. Each field of a record is a column, cast from its type in
        `value.value_schema` to its type in `output_schema`. A pair has the columns `key` and `value`; a record in a
        pair is a struct. Avro messages are resolved to the reader's schema `value.definition`.
        """

    @property
    def batch_rows(self) -> int:
        """Number of rows of a full record batch.

        The memory of the decoder is bounded by this number and one decompressed entry.
        """

    @property
    def start(self) -> Position | None:
        """The first position of the range; None means no lower bound.

        Each message outside of the range is dropped, even if other messages of its entry are in the range.

        The position of a chunked message is the position of its last chunk.
        """

    @property
    def end(self) -> Position | None:
        """The position after the range; None means no upper bound."""

    @property
    def row_filter(self) -> RowFilter: ...
    @property
    def bad_rows(self) -> str:
        """The handling of a bad row.

        "fail" raises an error, "null" sets the value columns of the row to null, and "drop" omits the row.

        A message is a bad row if its value cannot be decoded ("payload"). A message is also a bad row if its metadata
        do not fit a metadata column. In this case the metadata column is null. An entry whose payload cannot be
        decompressed or unpacked ("payload", "unsupported", "too_large") is one bad row. Such a row has batch index -1
        and the payload as stored. A damaged entry always raises an error.
        """

    @property
    def corrupt_column(self) -> str | None:
        """Name of the output column (binary) that contains the payloads of bad rows."""

    @property
    def payload_column(self) -> str | None:
        """Name of the output column (binary) that contains kept payloads.

        A payload is kept if the value columns do not contain all of its data.

        The payloads of these messages are kept:
        - bad rows, and messages of the schema versions that were passed to `keep_payloads`;
        - JSON that has a member without a column, or that lacks a member with a default;
        - Protobuf that has a field without a column, an explicit value equal to the default, or a time finer than
          microseconds.

        With this column, an entry whose payload cannot be unpacked always raises an error. The output schema must have
        all value columns.
        """

    @property
    def intake(self) -> IntakeOptions: ...

class Decoder:
    """A decoder that turns the entries of one topic partition into Arrow record batches of one schema."""

    def __init__(self, options: DecoderOptions) -> None:
        """Create a decoder.

        Raises:
            KernelError: "schema" if the options contradict each other.

        """

    def add_writer_schema(self, version: bytes, written: PayloadSchema) -> None:
        """Add a schema version of the registry, and the schema of the messages with this version.

        Only "avro", "protobuf" and "key_value" need versions. Messages without a version have the version `b""`.

        Raises:
            KernelError: "schema" if the schema of the version cannot be resolved to the reader's schema.

        """

    def keep_payloads(self, version: bytes | None) -> None:
        """Put the payload of every message of this schema version into `payload_column`. None means all versions."""

    def refuse_version(self, version: bytes, why: str) -> None:
        """Treat every message of this schema version as a bad row, for the reason `why`.

        Call this instead of `add_writer_schema`.

        With `bad_rows` "fail", the first of these messages raises `KernelError` "schema".
        """

    def unknown_versions(self, entries: EntryBatch) -> list[bytes]:
        """Return the schema versions in `entries` that the decoder does not know.

        Pass each of them to `add_writer_schema` or `refuse_version` before `push`.

        The list is empty for value types other than "avro", "protobuf" and "key_value".
        """

    def push(self, entries: EntryBatch) -> None:
        """Move the entries into the decoder; `entries` is empty afterwards.

        An entry is decompressed only when a record batch needs its messages.

        Markers and messages that compaction removed produce no row.
        """

    def next_batch(self, flush: bool) -> ArrowArrayExportable | None:
        """Return the next record batch.

        A batch has `batch_rows` rows, or fewer rows if `batch_rows` rows would exceed 32 MiB. With `flush`, a batch may
        also have the remaining 1 to `batch_rows` rows.

        Returns:
            None if there are too few rows, or if an entry waits for a data key, chunks or the outcome of a transaction.
                See `needed_data_keys`, `missing_chunks` and `undecided_transactions`.

        Raises:
            KernelError: "corrupt", "payload", "unsupported" or "encrypted", with ledger, entry and batch index. After
                this error the decoder cannot be used.

        """

    def needed_data_keys(self) -> list[tuple[str, bytes]]:
        """Return the key pairs of the entry that waits for a data key.

        Each is the name of the pair, and the data key that the pair wrapped.

        Pass one of the keys to `add_data_key` after unwrapping, or pass each of them to `refuse_data_key`. The list is
        empty if no entry waits for a data key.
        """

    def add_data_key(self, wrapped: bytes, key: bytes) -> None:
        """Add an unwrapped data key. The decoder uses the key for the waiting entry and all later entries."""

    def refuse_data_key(self, wrapped: bytes, why: str) -> None:
        """Record that a data key cannot be unwrapped.

        The decoder handles the entry by `crypto_failure_action`. An error contains `why`.
        """

    def missing_chunks(self) -> tuple[int, int, int] | None:
        """Return the message that waits for earlier chunks, or None if no message waits.

        The message is described by the ledger and entry of its last chunk, and the number of its chunks.

        For such a message, call `look_back` with the entries before the last chunk, then `end_look_back`.
        """

    def look_back(self, entries: EntryBatch, restart: bool) -> bool:
        """Store the chunks in `entries` that the waiting message needs. `entries` is empty afterwards.

        Args:
            entries: Entries in order, before the waiting message.
            restart: True for the first call of a search that begins at an earlier entry than the previous search.

        Returns:
            True if the first chunk was found. Then no entries before this chunk are needed.

        Raises:
            KernelError: "corrupt".

        """

    def end_look_back(self) -> None:
        """Continue to decode with the chunks that were found.

        If the message is still incomplete, `take_lost` reports the message.
        """

    def undecided_transactions(self) -> list[tuple[int, int]]:
        """Return the transactions whose outcome must be set by `add_transaction`.

        A transaction is a pair: the most and the least significant bits of its id, unsigned.

        An entry of an `unfiltered` batch waits until the outcome of its transaction is set. The list is empty if no
        entry waits.
        """

    def add_transaction(self, most: int, least: int, aborted: bool) -> None:
        """Set for this range whether the broker treats a transaction as aborted.

        The messages of an aborted transaction in `unfiltered` entries produce no rows.
        """

    def give_up_transactions(self) -> tuple[int, int] | None:
        """Drop the entry that waits for a transaction, and all later entries.

        Returns:
            Ledger and entry from which the range must be read from a source that returns only visible messages. None if
                no entry waits.

        """

    def chunked_messages(self) -> list[tuple[bytes, tuple[int, int] | None]]:
        """Return the chunked messages of this range.

        The result omits incomplete messages above `max_open_chunked`. The result also omits messages whose first chunk
        is before the range, unless their last chunk is in the range.

        Returns:
            For each message, its name within the topic partition, and the ledger and entry of its first chunk. The
                ledger and entry are None if the last chunk of the message was read.

        """

    def take_lost(self) -> list[tuple[int, int, int, bool]]:
        """Return the chunked messages that can never be complete. A message is returned by one call only.

        Returns:
            For each message, the ledger and entry of its last chunk, the number of its chunks, and whether its first
                chunk exists. If the first chunk exists, a later chunk is missing.

        """

    @property
    def discarded(self) -> int:
        """Number of entries of the range that were dropped because they cannot be decrypted."""

    @property
    def bad_rows(self) -> tuple[int, KernelError | None]:
        """The number of bad rows in this range's record batches until now, and the error of the first bad row."""

    def rewind(
        self, partition: int, start: Position | None, end: Position | None, row_filter: RowFilter
    ) -> None:
        """Set the next range, of this or another partition of the same topic. The schema versions are reused.

        Raises:
            KernelError: "schema" if some rows of the current range were not returned yet.

        """

class SendFrames:
    """The SEND frames for one partition, in order of sequence id."""

    partition: int
    frames: bytes
    first_sequence_id: int
    last_sequence_id: int
    sequence_ids: list[int]
    """The `sequence_id` of each CommandSend in `frames`, in order. The receipt for a frame contains the `sequence_id`
    of the frame. Each chunk of a message has its own id, so all ids are distinct."""
    ends: list[int]
    """The offset in `frames` after the last byte of each frame."""
    chunked: list[tuple[int, int]]
    """Pairs for the chunked messages: the index of the first frame, and the index after the last frame."""
    num_messages: int

def within_slots(rows: ArrowArrayExportable, first: int, stop: int) -> ArrowArrayExportable:
    """Return a boolean column that is true for rows with a hash slot from `first` (inclusive) to `stop` (exclusive).

    `rows` must have the columns `__orderingKey`, `__key`, `__producerName` and `__sequenceId`, as in the rows of a
    read.

    Raises:
        KernelError: "schema" if a column is missing or has another type.

    """

def crc32c(data: bytes) -> int:
    """Return the checksum CRC-32C (Castagnoli) of the bytes. RFC 3720 defines this checksum."""

def renew_chunks(frames: bytes, attempt: int) -> bytes:
    """Replace the uuid in the SEND frames of a chunked message by the uuid of another attempt.

    Attempt 0 has the uuid from `Encoder`. `frames` must contain all chunks of one message. The length does not change.

    Raises:
        KernelError: "corrupt" for other frames.

    """

class Encoder:
    """An encoder that turns Arrow record batches into SEND frames of batched entries.

    Each frame is assigned to a partition.
    """

    def __init__(
        self,
        input_schema: ArrowSchemaExportable,
        *,
        value: PayloadSchema,
        partitions: int,
        compression: str = "NONE",
        batching_max_messages: int = 1000,
        batching_max_bytes: int = 131072,
        max_message_bytes: int = 5242880,
    ) -> None:
        """Create an encoder.

        The columns whose names do not begin with `__` form the value. A primitive has one column, `value`. A record
        ("json", "avro" or "protobuf") has one column for each field, with the name of the field. A "key_value" has the
        columns `key` and `value`. A field of `value.value_schema` without a column is written as null.

        The encoder uses these metadata columns, and ignores other columns whose names begin with `__`:
        - `__key` (binary or string; not allowed for a separated key_value), `__orderingKey`, `__eventTime` (timestamp),
          `__messageProperties` (map<string,string>).
        - `__partition` (int32). Null or -1 means that `encode` chooses the partition.
        - `__deliverAt` (timestamp). A message with this value is sent in a separate entry.
        - `__replicationClusters` (list of strings): the clusters that receive the message by replication. An empty list
          means that no cluster receives the message. A message with this value is sent in a separate entry.
        - `__sequenceId` (int64). If the column exists, every row must have a sequence id and is sent in a separate
          entry. The ids must increase in each partition.
        - `__tombstone` (boolean). True writes a null value and ignores the value columns.

        Args:
            input_schema: The Arrow schema of every batch.
            value: The schema of the value.
            partitions: Number of partitions of the topic; 1 for a topic without partitions.
            compression: NONE, LZ4, ZLIB, ZSTD or SNAPPY.
            batching_max_messages: Maximum number of messages in an entry.
            batching_max_bytes: Maximum uncompressed size of an entry with several messages, in bytes.
            max_message_bytes: Maximum size of an entry when it is sent, in bytes.

        Raises:
            KernelError: "schema".

        """

    def set_producing(
        self, *, batching: str = "default", chunk_bytes: int | None = None, hashing: str = "JavaStringHash"
    ) -> None:
        """Set the batching, chunking and hashing of messages. Call this method before the first `encode`.

        Args:
            batching: The messages that share an entry. "default": consecutive messages. "key": messages with the same
                ordering key, or without it the same key; only rows of the same key keep their order. "none": each
                message has a separate entry.
            chunk_bytes: Maximum size of a chunk with its metadata, in bytes. Messages above `chunk_bytes` or
                `max_message_bytes` are split into chunks. With None, messages above `max_message_bytes` raise
                "too_large".
            hashing: JavaStringHash or Murmur3_32Hash.

        Raises:
            KernelError: "schema".

        """

    def set_data_key(self, key: bytes, wrapped: list[tuple[str, bytes]]) -> None:
        """Encrypt every entry with a data key of 32 bytes. No other encoder may use this key.

        Args:
            key: The data key.
            wrapped: For each key pair, its name and the data key, encrypted with the public key of the pair.

        Raises:
            KernelError: "schema".

        """

    def set_producer(
        self,
        partition: int,
        *,
        producer_id: int,
        producer_name: str,
        next_sequence_id: int,
        schema_version: bytes | None,
        transaction: tuple[int, int] | None = None,
    ) -> None:
        """Set the producer of a partition. Call this method for every partition before the first `encode`.

        `transaction` is the id of the messages' transaction: its most and its least significant bits.
        """

    def encode(self, batch: ArrowArrayExportable, publish_time_ms: int) -> list[SendFrames]:
        """Encode all rows, and return all of their frames. Rows of one partition keep their order.

        A row with a `__key` goes to partition `(String.hashCode of the key's UTF-8 text & 0x7fffffff) %
        partitions`. This hash is JavaStringHash, the default of the official Java client; `set_producing` sets another
        hash. Rows without a key are distributed to the partitions in turn, one entry after another. The key of a
        separated pair is written as base64, and its hash selects the partition.

        A value is null if all value columns are null. A primitive or a "key_value" is then written with the flag
        `null_value`. For a separated pair, only the column `value` must be null. A record is written as a record of
        nulls.

        Args:
            batch: The rows, in the schema `input_schema`.
            publish_time_ms: The publish time of the messages, in Unix milliseconds.

        Raises:
            KernelError: "payload" or "too_large", with the index of the row.

        """

    def start_digest(self, topic: str) -> None:
        """Start a digest of the rows that are passed to `encode` and `digest` from now on.

        Args:
            topic: The full name of the topic, without the partition suffix.

        """

    def digest(self, batch: ArrowArrayExportable) -> None:
        """Add all rows to the digest without encoding. This method needs no producers.

        Raises:
            KernelError: "payload", with the index of the row.

        """

    @property
    def row_digest(self) -> tuple[int, int] | None:
        """The number of rows since `start_digest`, and the sum of their hashes modulo 2^64; None before `start_digest`.

        The hash of a row covers the topic, key, ordering key, event time, properties and value. The digest does not
        depend on the order of the rows, or on their batching and partitions.
        """
