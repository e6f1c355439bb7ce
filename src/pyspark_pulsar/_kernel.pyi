"""Interface of the Rust kernel: bytes to Arrow and Arrow to bytes, for all work that happens once per message.

The kernel has no socket, no clock and no thread, and never calls back into Python. Every method that does
real work releases the interpreter lock. Only `codec` and, in `client`, `bookkeeper` and `broker.transport`
may import this module. docs/decisions explains the border between the kernel and Python.

A position is `(ledger, entry, batch_index)`, and means the next message to read. A message outside of a batch
has batch index -1 in `__messageId`, as in Pulsar's own clients, and batch index 0 in a position.
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

        A primitive is "bytes", "string", "boolean", "int8", "int16", "int32", "int64", "float" or "double",
        big endian as in Pulsar's Java schemas. A record is "json", "avro" or "protobuf". A pair of two of
        these is "key_value".
        """

    @property
    def value_schema(self) -> ArrowSchemaExportable | None:
        """The fields of a record as `definition` describes them.

        For example, `timestamp-millis` is `timestamp[ms]`.
        """

    @property
    def definition(self) -> str | None:
        """The definition of a record: an Avro schema, or for Protobuf the plan of `schema.protobuf.plan`."""

    @property
    def pair(self) -> KeyValuePair | None:
        """The two sides of "key_value"."""

class KeyValuePair(Protocol):
    """The sides of a pair, primitives or records, such as a `schema.payload.KeyValuePair`."""

    @property
    def key(self) -> PayloadSchema: ...
    @property
    def value(self) -> PayloadSchema: ...
    @property
    def separated(self) -> bool:
        """True if the key is the message's key (SEPARATED) instead of a part of the payload (INLINE)."""

Position: TypeAlias = tuple[int, int, int]

class KernelError(Exception):
    """An error of the kernel. `codec` turns it into a `PulsarError` that names the topic.

    Attributes:
        kind: One of the kinds below.
        message: What was expected, what was found, and where.
        ledger: The ledger of the message; -1 if no message is to blame.
        entry: The entry of the message; -1 if no message is to blame.
        batch_index: The index in the batched entry; -1 outside of a batch, or for the entry as a whole.
        row: The row of the record batch that was passed to `Encoder.encode`; -1 for other calls.

    The kinds are:

    - "corrupt": A checksum, length or codec does not fit; the bytes are damaged.
    - "payload": The bytes are whole, but a value does not fit its schema.
    - "unsupported": The bytes are valid, but this version cannot decode them.
    - "encrypted": The message is encrypted, and the data keys do not decrypt it.
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
    """Whole entries in the order of their `push` calls. Rust owns the bytes."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def push(self, ledger: int, entry: int, data: bytes) -> None:
        """Add one entry.

        `data` is what a bookie stores, and what a MESSAGE frame contains after its command: `[0e02 broker
        entry metadata] [0e01 crc32c] metadata size, MessageMetadata, payload`.
        """

    @property
    def nbytes(self) -> int: ...
    @property
    def num_messages(self) -> int:
        """Number of messages in the entries, as a broker counts permits: each message of a batch counts."""

    @property
    def published(self) -> tuple[int, int] | None:
        """The earliest and the latest publish time in Unix milliseconds; None if no entry has one.

        Checksums are not verified.
        """

    @property
    def first(self) -> tuple[int, int] | None:
        """(ledger, entry) of the first entry; None without entries."""

    @property
    def last(self) -> tuple[int, int] | None: ...

    unfiltered: bool
    """True if the entries come from storage (a bookie, tiered storage). A broker would hide the messages of
    aborted transactions; for such entries the Decoder hides them. The default is False. `Decoder.push` keeps
    the value for the entries that it accepts."""

    def schema_versions(self) -> list[bytes]:
        """Return the distinct schema versions of the entries, in order of first appearance; b"" means no version.

        Raises:
            KernelError: "corrupt" for an entry whose checksum or metadata does not fit.
        """

    def trim(self, start: Position, end: Position) -> None:
        """Remove whole entries outside of `start` (inclusive) to `end` (exclusive)."""

    def gaps(self, following: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Return the gaps in the ids (ledger, entry) from `following` on, in order.

        A gap is the first missing id and the id that follows the gap. If the ledger of `following` is below
        0, the first entry follows it without a gap. An id that is there twice is no gap.
        """

    def origins(
        self,
    ) -> list[tuple[tuple[int, int], int | None, str | None, tuple[int, int] | None]]:
        """Return the origin of each entry, in order. Checksums are not verified.

        Returns:
            Tuples of four parts:
            (ledger, entry) of the entry;
            its publish time in Unix milliseconds, or None if damage hides it;
            the cluster that the entry was replicated from, or None if it was produced in this cluster;
            (ledger, entry) in that cluster, or None if its replicator did not record it (Pulsar before
                3.0.11, 3.3.6, 4.0.4).

        """

    def unwrap_compacted(self, after: tuple[int, int] | None = None) -> None:
        """Replace the entries of a compacted ledger by the entries that they contain, with their original ids.

        Args:
            after: The id before the first entry.

        Raises:
            KernelError: "corrupt" for an entry that is not wrapped in this form, or is out of order.
        """

class Backlog:
    """The counted messages and bytes of a topic partition. Of each entry 24 bytes are kept."""

    def __init__(self, *, published_from: int | None = None) -> None:
        """Create an empty backlog, which ignores messages published before `published_from` (Unix milliseconds)."""

    def add(self, entries: EntryBatch) -> tuple[int, int]:
        """Count the entries after the last counted one, and return the numbers of their messages and bytes.

        `entries` is empty afterwards. Markers, and all chunks of a message but the last, count as no message.
        A damaged entry counts as one message.
        """

    def drop_before(self, position: Position) -> None:
        """Remove the entries before the entry of the position."""

    def take(
        self,
        start: Position,
        end: Position,
        *,
        messages: int = ...,
        nbytes: int = ...,
        at_least_one: bool = False,
    ) -> tuple[Position, int, int]:
        """Return the longest counted slice from `start` (inclusive) to `end` (exclusive) within both limits.

        The slice ends between entries, with two exceptions. The limit of messages may end the slice inside
        any entry, and the limit of bytes inside its first entry. Each message of a batch has an equal share
        of its bytes. With `at_least_one` the slice contains the first message, or the first entry if that has
        no messages, whatever `nbytes` is.

        Returns:
            The end of the slice, its messages and its bytes.

        """

class LedgerFrames:
    """The entries `first` to `last` (inclusive) of one ledger, put in order from the bytes of any number of bookies.

    The class uses version 2 of BookKeeper's binary protocol: READ_ENTRY (operation 2) and BATCH_READ (7),
    without fencing. It verifies digests, and removes the headers that bookies add.
    """

    def __init__(
        self, ledger: int, first: int, last: int, *, digest: str | None, max_frame_bytes: int
    ) -> None:
        """Create a buffer. `digest` is CRC32C, CRC32 or DUMMY; None means an unknown type, CRC32C or CRC32.

        Raises:
            KernelError: "unsupported" for another digest.

        """

    @property
    def next(self) -> int:
        """The first entry that was not taken."""

    @property
    def buffered_bytes(self) -> int:
        """Number of buffered bytes, of entries and of beginnings of frames."""

    @property
    def groups(self) -> int:
        """Number of groups of more than one entry that bookies returned completely."""

    def missing(self, first: int, stop: int, step: int, size: int = 1) -> int:
        """Return the number of entries that were not received yet, of groups of `size` consecutive entries.

        The groups begin at range(first, stop, step), and end before `stop`.
        """

    def read_requests(self, first: int, stop: int, step: int, size: int = 1) -> bytes:
        """Build a request for the missing entries of each group of `missing`.

        A single entry is requested by READ_ENTRY, otherwise by BATCH_READ. `feed` treats the answer to such a
        BATCH_READ like answers to single requests.
        """

    def batch_request(self, first: int, stop: int, request_id: int, max_bytes: int) -> bytes:
        """Build one BATCH_READ request for the entries of the ledger in range(first, stop)."""

    def feed(self, connection: int, data: bytes) -> list[tuple[int | None, int, int, int]]:
        """Read bytes from the socket of this connection.

        Returns:
            Outcomes as (request id, entry, code, count). Codes are BookKeeper's; -1 means that the digest does
            not fit, or that the entry is another one.
            A refused entry of `read_requests` is (None, entry, code, 0). Its code is 0 if the bookie did not
            reach it after another failed entry of its group.
            An answer to `batch_request` is (its id, its first entry, code, number of good entries). Its code is
            0 without a failure.

        Raises:
            KernelError: "corrupt" if the bytes are no bookie's answer to such a request; close the connection
                and call `forget`.

        """

    def forget(self, connection: int) -> None:
        """Drop the beginning of a frame that a closed connection left."""

    def take(self) -> EntryBatch | None:
        """Remove and return the entries from `next` up to the first gap; None if `next` is missing."""

class FrameDecoder:
    """The frames of a broker connection, split from the bytes of its socket in order.

    The wire format is `u32 total size, u32 command size, BaseCommand[, rest]` (Pulsar binary protocol).
    MESSAGE frames of added consumers are kept as entries, and MESSAGE frames of other consumers are dropped.
    `feed` returns the BaseCommand of every other frame. The checksum of a MESSAGE is verified when it is
    decoded.
    """

    def __init__(self, max_frame_bytes: int) -> None: ...
    def feed(self, data: bytes) -> list[bytes]:
        """Read bytes from the socket, and return the BaseCommands that they complete, except MESSAGE.

        Raises:
            KernelError: "corrupt" for a frame longer than `max_frame_bytes`, or with contradictory lengths.
                The connection cannot be used after that.

        """

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """Remove and return all entries queued for the consumer, oldest first; None without entries.

        Entries may be delivered twice; the range of the Decoder filters them.
        """

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """Return (ledger, entry) of the oldest entry queued for the consumer; None without entries."""

    def buffered_bytes(self) -> int:
        """Return the number of bytes of all queued entries."""

    def add_consumer(self, consumer_id: int) -> None:
        """Start to keep the entries that arrive for the consumer."""

    def drop_consumer(self, consumer_id: int) -> None:
        """Remove the consumer and its entries. Entries that still arrive for the consumer are dropped."""

class StoredEntries:
    """The requested entries of a ledger, read from the bytes of its copy in tiered storage."""

    @property
    def start(self) -> int:
        """Offset in the object or file of the first byte to feed."""

    @property
    def end(self) -> int | None:
        """Offset after the last byte to feed; None means the end of the file."""

    @property
    def next_entry(self) -> int:
        """The first requested entry that `feed` has not returned yet."""

    @property
    def is_done(self) -> bool:
        """True if all requested entries were returned. Later bytes need not be fed."""

    @property
    def has_more(self) -> bool:
        """True if the bytes that were fed contain more entries. If so, call `feed(b"")` next."""

    def feed(self, data: bytes) -> EntryBatch:
        """Read the next bytes, in pieces of any size, and return the requested entries that they complete.

        At most about 16 MiB are returned at a time. The entries have contiguous ids and verified checksums.

        Raises:
            KernelError: "corrupt" for damage, and for a missing or damaged entry (with its id) after all
                earlier entries were returned; "unsupported".

        """

    def finish(self) -> None:
        """End the bytes.

        Raises:
            KernelError: "corrupt" unless `is_done`.

        """

class ObjectIndex:
    """The index object of a ledger in an object store, in version 1 of the format of Pulsar's offloader `jcloud`."""

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
        """The first entry that the offloader left out; None if the index shows no missing entry."""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First entry and offset of each block, in order."""

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
        """Key of a record, and position of the record or of its block, for some records in order.

        The first key is -1.
        """

    def entries(self, first: int, last: int) -> StoredEntries:
        """Return a reader of the entries `first` to `last`, both inclusive."""

class RowFilter(Protocol):
    """The filter on metadata of messages, such as a `codec.row_filter.RowFilter`.

    A property without value selects all messages.

    A filtered message is never decoded, and needs no schema version. If the entry's metadata show that it is
    filtered, it is not decompressed either. Checksums are verified in any case. For a chunked message the
    metadata of its last chunk decide.
    """

    @property
    def published_from(self) -> int | None:
        """The earliest publish time of selected messages, in Unix milliseconds."""

    @property
    def published_before(self) -> int | None:
        """The first publish time after the selected messages, in Unix milliseconds."""

    @property
    def event_from(self) -> int | None:
        """The earliest event time of selected messages, in Unix milliseconds."""

    @property
    def event_before(self) -> int | None:
        """The first event time after the selected messages, in Unix milliseconds.

        Messages without event time are selected.
        """

    @property
    def keys(self) -> AbstractSet[bytes] | None:
        """The keys of selected messages, as in `__key`."""

    @property
    def slots(self) -> tuple[int, int] | None:
        """Range of hash slots of selected messages, as in Key_Shared subscriptions.

        The first slot, and the first slot after the last one.

        There are 65536 slots. The ordering key of a message decides its slot, or its key if it has no
        ordering key. Without either, the producer name and sequence id of its entry decide.
        """

class IntakeOptions(Protocol):
    """The options for opening entries, such as a `codec.intake.Intake`."""

    @property
    def max_open_chunked(self) -> int:
        """The number of chunked messages whose chunks are kept at the same time; 0 means no limit.

        Above the limit the chunks of the oldest message are dropped. They are looked for again when its last
        chunk arrives.
        """

    @property
    def crypto_failure_action(self) -> str:
        """The handling of an entry that cannot be decrypted.

        "FAIL" raises KernelError "encrypted", and "DISCARD" produces no row. "CONSUME" produces one row with
        batch index -1 and the encrypted payload, which is a bad row unless the value is bytes. The property
        `__encryption` of the row describes the encryption as JSON.
        """

    @property
    def max_uncompressed(self) -> int | None:
        """The largest decompressed payload of an entry or a chunked message, in bytes. Never more than 1 GiB.

        None means 16 times the stored bytes, and at least 80 MiB.
        """

class DecoderOptions(Protocol):
    """The options of a `Decoder`, such as a `codec.decode.DecoderOptions`."""

    @property
    def output_schema(self) -> ArrowSchemaExportable:
        """Value and metadata columns in any order, exactly as they are returned.

        Other columns are not decoded.

        Metadata columns are known by name: `__key`, `__topic`, `__partition`, `__messageId`, `__publishTime`,
        `__eventTime`, `__messageProperties`, `__orderingKey`, `__producerName`, `__sequenceId`,
        `__schemaVersion`, `__messageSize`, `__replicatedFrom`, `__index` and `__brokerPublishTime`.
        """

    @property
    def topic(self) -> str:
        """Text of `__topic`, without the partition suffix."""

    @property
    def partition(self) -> int:
        """Index of the partition; -1 for a topic without partitions."""

    @property
    def value(self) -> PayloadSchema:
        """The schema of the value.

        A primitive has one value column, `value`. The fields of a record are columns of their own, cast from
        `value.value_schema` to `output_schema`. The sides of a pair are the columns `key` and `value`; a
        record there is a struct. Avro messages are resolved to `value.definition`.
        """

    @property
    def batch_rows(self) -> int:
        """Number of rows of a full batch. Apart from one decompressed entry, only this bounds the memory."""

    @property
    def start(self) -> Position | None:
        """The first position of the range; None is unbounded.

        Messages outside of the range are dropped row by row.

        The position of a chunked message is the position of its last chunk.
        """

    @property
    def end(self) -> Position | None:
        """The position after the range; None is unbounded."""

    @property
    def row_filter(self) -> RowFilter: ...
    @property
    def bad_rows(self) -> str:
        """The handling of a bad row.

        "fail" raises, "null" sets its value columns to null, and "drop" leaves it out.

        A message is a bad row if its value cannot be decoded ("payload"). So is a message whose metadata do not
        fit a metadata column, which is then null. An entry is one bad row if its payload cannot be opened
        ("payload", "unsupported", "too_large"). Such a row has batch index -1 and the payload as stored. Damaged
        entries always raise.
        """

    @property
    def corrupt_column(self) -> str | None:
        """Name of the output column (binary) with the payloads of bad rows."""

    @property
    def payload_column(self) -> str | None:
        """Name of the binary output column with kept payloads.

        It has the payloads of messages whose value columns do not contain all of the payload.

        These messages are:
        - messages of versions that `keep_payloads` names, and bad rows;
        - JSON with a member without a column, or without a member that has a default;
        - Protobuf with a field without a column, with the default of an absent field, or with a time finer than
          microseconds.

        With this column an entry that cannot be opened always raises. The output schema must have all value
        columns.
        """

    @property
    def intake(self) -> IntakeOptions: ...

class Decoder:
    """A decoder of one topic partition's entries to Arrow record batches of one schema."""

    def __init__(self, options: DecoderOptions) -> None:
        """Create a decoder.

        Raises:
            KernelError: "schema" if the options contradict each other.

        """

    def add_writer_schema(self, version: bytes, written: PayloadSchema) -> None:
        """Add a registry version, with the schema that its messages were written with.

        Only avro, protobuf and key_value need versions. b"" is the version of messages that name none.

        Raises:
            KernelError: "schema" if the version cannot be resolved to the reader's schema.

        """

    def keep_payloads(self, version: bytes | None) -> None:
        """Put the payload of every message of this version into `payload_column`; None means all versions."""

    def refuse_version(self, version: bytes, why: str) -> None:
        """Make every message of this version a bad row for the reason `why`, instead of `add_writer_schema`.

        With bad_rows="fail" the first of these messages raises KernelError "schema".
        """

    def unknown_versions(self, entries: EntryBatch) -> list[bytes]:
        """Return the versions in `entries` that need `add_writer_schema` or `refuse_version` before `push`.

        The list is empty for value types other than avro, protobuf and key_value.
        """

    def push(self, entries: EntryBatch) -> None:
        """Accept the entries; `entries` is empty afterwards.

        No entry is decompressed before a batch needs it.

        Markers and messages that compaction removed produce no row.
        """

    def next_batch(self, flush: bool) -> ArrowArrayExportable | None:
        """Return the next record batch.

        A batch has `batch_rows` rows, or fewer if they contain more than 32 MiB. With `flush` it has the
        remaining 1 to `batch_rows` rows.

        Returns:
            None if there are too few rows, or if an entry waits for what `needed_data_keys`, `missing_chunks`
                or `undecided_transactions` return.

        Raises:
            KernelError: "corrupt", "payload", "unsupported" or "encrypted" with ledger, entry and batch
                index. The decoder cannot be used after that.

        """

    def needed_data_keys(self) -> list[tuple[str, bytes]]:
        """Return the name of the key pair and the wrapped data key, for each key pair of the waiting entry.

        Add one of the data keys, or refuse all. The list is empty if no entry waits for a key.
        """

    def add_data_key(self, wrapped: bytes, key: bytes) -> None:
        """Add a data key, for this entry and all later ones."""

    def refuse_data_key(self, wrapped: bytes, why: str) -> None:
        """Record that a data key cannot be unwrapped.

        `crypto_failure_action` applies, and an error contains `why`.
        """

    def missing_chunks(self) -> tuple[int, int, int] | None:
        """Return the message that waits for earlier chunks.

        The values are the ledger and entry of its last chunk, and its number of chunks.

        Call `look_back` with the entries before it, then `end_look_back`. None means that no message waits
        for chunks.
        """

    def look_back(self, entries: EntryBatch, restart: bool) -> bool:
        """Keep the chunks in `entries` that the waiting message needs. `entries` is empty afterwards.

        Args:
            entries: Entries in order, before the waiting message.
            restart: Begin a search that reaches further back.

        Returns:
            True if the first chunk was found. Then the entries between it and the waiting message are
                sufficient.

        Raises:
            KernelError: "corrupt".

        """

    def end_look_back(self) -> None:
        """Continue with the chunks that were found. `take_lost` reports a message that is still incomplete."""

    def undecided_transactions(self) -> list[tuple[int, int]]:
        """Return the transactions whose outcome `add_transaction` must set.

        Each is a pair of its most and least significant bits, unsigned.

        The first entry of an `unfiltered` batch that belongs to such a transaction waits. The list is empty
        if none waits.
        """

    def add_transaction(self, most: int, least: int, aborted: bool) -> None:
        """Set whether the broker counts a transaction as aborted, for this range.

        The messages of an aborted transaction in `unfiltered` entries produce no rows.
        """

    def give_up_transactions(self) -> tuple[int, int] | None:
        """Drop the entry that waits for a transaction, and all entries pushed after it.

        Returns:
            Ledger and entry at which another source continues, which returns only visible messages. None if
                no entry waits.

        """

    def chunked_messages(self) -> list[tuple[bytes, tuple[int, int] | None]]:
        """Return the chunked messages of this range.

        Left out are messages whose first chunk is before the range, unless they ended in the range, and open
        messages above `max_open_chunked`.

        Returns:
            The name of each message within its topic partition, and ledger and entry of its first chunk; None
                for a message that has ended.

        """

    def take_lost(self) -> list[tuple[int, int, int, bool]]:
        """Return the chunked messages that were found to be incomplete forever since the last call.

        Returns:
            Ledger and entry of the last chunk, number of chunks, and whether the first chunk exists (then a
                later one is missing).

        """

    @property
    def discarded(self) -> int:
        """Number of entries of the range that were dropped because they cannot be decrypted."""

    @property
    def bad_rows(self) -> tuple[int, KernelError | None]:
        """Number of bad rows of this range in the batches until now, and the error of the first."""

    def rewind(
        self, partition: int, start: Position | None, end: Position | None, row_filter: RowFilter
    ) -> None:
        """Set the next range, of this or another partition of the same topic. Known versions stay known.

        Raises:
            KernelError: "schema" unless every row of the current range was returned.

        """

class SendFrames:
    """SEND frames for one partition, ready for the socket, in order of sequence id."""

    partition: int
    frames: bytes
    first_sequence_id: int
    last_sequence_id: int
    sequence_ids: list[int]
    """`sequence_id` of each CommandSend in `frames`, in order. A receipt contains the same id. Each chunk of
    a message has its own id, so no two are equal."""
    ends: list[int]
    """End of each frame in `frames`."""
    chunked: list[tuple[int, int]]
    """Index of the first frame of each chunked message, and the index after its last."""
    num_messages: int

def within_slots(rows: ArrowArrayExportable, first: int, stop: int) -> ArrowArrayExportable:
    """Return a boolean column: whether a row's hash slot is in the range from `first` up to `stop` (exclusive).

    `rows` has `__orderingKey`, `__key`, `__producerName` and `__sequenceId`, as reads return them.

    Raises:
        KernelError: "schema" if a column is missing or has another type.

    """

def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of the bytes, as in RFC 3720."""

def renew_chunks(frames: bytes, attempt: int) -> bytes:
    """Return the SEND frames of a message's chunks with the uuid of another attempt, in the same length.

    Attempt 0 has the uuid that `Encoder` made. The frames must be all chunks of one message.

    Raises:
        KernelError: "corrupt" for other frames.

    """

class Encoder:
    """An encoder of Arrow record batches to batched entries inside SEND frames, routed to partitions."""

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

        The columns whose names do not begin with `__` are the value. A primitive has one column `value`;
        json, avro and protobuf have the record's fields by name; key_value has `key` and `value`. A field of
        `value.value_schema` without a column is written as null.

        These metadata columns are used, and other columns whose names begin with `__` are ignored:
        - `__key` (binary or string; not allowed for a separated key_value), `__orderingKey`, `__eventTime` (timestamp),
          `__messageProperties` (map<string,string>).
        - `__partition` (int32). Null and -1 mean that the key decides, or the round robin.
        - `__deliverAt` (timestamp). Such a message has an entry of its own.
        - `__replicationClusters` (list of strings): the clusters that receive the message by replication. An empty list
          means none. Such a message has an entry of its own.
        - `__sequenceId` (int64). If the column exists, every row names its sequence id and has an entry of its
          own. The ids must increase in each partition.
        - `__tombstone` (boolean). True writes a null value, whatever the value is.

        Args:
            input_schema: The schema of every batch.
            value: The schema of the value.
            partitions: Number of partitions of the topic; 1 for a topic without partitions.
            compression: NONE, LZ4, ZLIB, ZSTD or SNAPPY.
            batching_max_messages: Most messages of an entry.
            batching_max_bytes: Most uncompressed bytes of an entry with several messages.
            max_message_bytes: Most bytes of an entry as sent.

        Raises:
            KernelError: "schema".

        """

    def set_producing(
        self, *, batching: str = "default", chunk_bytes: int | None = None, hashing: str = "JavaStringHash"
    ) -> None:
        """Set how messages become entries. Call this before the first `encode`.

        Args:
            batching: The messages that share an entry. "default": consecutive messages. "key": messages of
                one ordering key, or one key, which the entry names; only rows of one key keep their order.
                "none": no messages.
            chunk_bytes: Largest size of a chunk with its metadata. Messages above it, or above
                `max_message_bytes`, are cut into chunks. With None, messages above `max_message_bytes` are
                "too_large".
            hashing: JavaStringHash or Murmur3_32Hash.

        Raises:
            KernelError: "schema".

        """

    def set_data_key(self, key: bytes, wrapped: list[tuple[str, bytes]]) -> None:
        """Encrypt every entry with a data key of 32 bytes, which no other encoder may use.

        Args:
            key: The data key.
            wrapped: The name of each key pair, and the data key wrapped with it.

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
        """Set the producer of a partition. Call this for every partition before the first `encode`.

        `transaction` contains the most and least significant bits of the transaction of its messages.
        """

    def encode(self, batch: ArrowArrayExportable, publish_time_ms: int) -> list[SendFrames]:
        """Encode all rows. All frames are returned immediately, and rows of one partition keep their order.

        A row with a `__key` goes to partition `(String.hashCode of the key's UTF-8 text & 0x7fffffff) %
        partitions`. This is JavaStringHash, the default of the official Java client; `set_producing` sets
        another function. Rows without a key go to the partitions in turn, one entry at a time. The key of a
        separated pair is written as base64, and routes the message.

        A null value (all value columns null) sets null_value for primitives and for key_value. A separated
        pair has a null value if `value` is null, whatever the key is. Records become a record of nulls.

        Args:
            batch: The rows, in the schema that was passed to `Encoder`.
            publish_time_ms: Unix milliseconds, UTC.

        Raises:
            KernelError: "payload" or "too_large", with the row.

        """

    def start_digest(self, topic: str) -> None:
        """Start a digest of all rows that `encode` and `digest` process.

        Args:
            topic: The full name without partition.

        """

    def digest(self, batch: ArrowArrayExportable) -> None:
        """Add all rows to the digest like `encode`, but encode nothing. This needs no producers.

        Raises:
            KernelError: "payload", with the row.

        """

    @property
    def row_digest(self) -> tuple[int, int] | None:
        """Number of rows since `start_digest`, and the sum of their hashes modulo 2^64; None without `start_digest`.

        The hash of a row covers topic, key, ordering key, event time, properties and value. So the digest
        does not depend on the order of the rows, or on how they are sent.
        """
