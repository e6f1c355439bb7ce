"""The Rust kernel: bytes to Arrow and Arrow to bytes, for everything that happens once per message.

Pure: no socket, no clock, no thread, no call back into Python. Every method that does real work
releases the interpreter lock. Only `codec` and, in `client`, `bookkeeper` and `broker.transport` may import this
module; see docs/decisions for why each side of the border lies where it does.

Positions are `(ledger, entry, batch_index)`: the next message to read. A message that is not part of
a batch has batch index -1 in `__messageId` (as in Pulsar's own clients) and counts as index 0 in a
position.
"""

from collections.abc import Set as AbstractSet
from typing import Protocol, TypeAlias

class ArrowSchemaExportable(Protocol):
    """Anything with the Arrow PyCapsule schema method, e.g. `pyarrow.Schema`."""

    def __arrow_c_schema__(self) -> object: ...

class ArrowArrayExportable(Protocol):
    """Anything with the Arrow PyCapsule array method, e.g. `pyarrow.RecordBatch`."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...

class PayloadSchema(Protocol):
    """How a payload lies in bytes; `schema.payload.PayloadSchema` is one."""

    @property
    def value_type(self) -> str:
        """A primitive, big endian as Pulsar's Java schemas write it ("bytes", "string", "boolean", "int8",
        "int16", "int32", "int64", "float", "double"), a record ("json", "avro", "protobuf"), or
        two of these ("key_value")."""

    @property
    def value_schema(self) -> ArrowSchemaExportable | None:
        """For records, the fields as `definition` describes them (timestamp-millis is timestamp[ms], ...)."""

    @property
    def definition(self) -> str | None:
        """For records, the Avro schema; for Protobuf the plan that `schema.protobuf_plan` describes."""

    @property
    def pair(self) -> KeyValuePair | None:
        """For "key_value", its two sides."""

class KeyValuePair(Protocol):
    """`schema.payload.KeyValuePair` is one. `key` and `value` are primitives or records."""

    @property
    def key(self) -> PayloadSchema: ...
    @property
    def value(self) -> PayloadSchema: ...
    @property
    def separated(self) -> bool:
        """Whether the key is the message's key (SEPARATED), not a part of the payload (INLINE)."""

Position: TypeAlias = tuple[int, int, int]

class KernelError(Exception):
    """What the kernel refuses. `codec` turns it into a `PulsarError` that names the topic.

    `kind` is one of:
    "corrupt": a checksum, length or codec that does not fit; the bytes are damaged.
    "payload": the bytes are whole, but a value does not fit its schema.
    "unsupported": something valid that this version cannot decode (a compression type, ...).
    "encrypted": an encrypted message that cannot be decrypted with the keys given.
    "schema": a schema or Arrow schema that cannot be used, or an unknown schema version.
    "too_large": one message exceeds the broker's maximum message size.
    `ledger`, `entry`, `batch_index` are -1 where they do not apply; `row` is the row of the record
    batch given to `Encoder.encode`, -1 elsewhere.
    """

    kind: str
    message: str
    ledger: int
    entry: int
    batch_index: int
    row: int

class EntryBatch:
    """Whole entries in the order in which they were pushed; the bytes stay on the Rust side."""

    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def push(self, ledger: int, entry: int, data: bytes) -> None:
        """Add one entry: `data` is what a bookie stores and a MESSAGE frame carries behind its command,
        `[0e02 broker entry metadata] [0e01 crc32c] metadata size, MessageMetadata, payload`."""

    @property
    def nbytes(self) -> int: ...
    @property
    def num_messages(self) -> int:
        """Messages in these entries, as the broker counts permits: a batched entry counts its messages."""

    @property
    def published(self) -> tuple[int, int] | None:
        """The earliest and the latest publish time, Unix milliseconds; None where no entry tells one. Checksums are not
        looked at."""

    @property
    def first(self) -> tuple[int, int] | None:
        """(ledger, entry) of the first entry; None when empty."""

    @property
    def last(self) -> tuple[int, int] | None: ...

    unfiltered: bool
    """Whether these entries come from storage (a bookie, tiered storage) and not from a broker, which hides the
    messages of aborted transactions: the Decoder then does. False at first; stays with the entries that are pushed."""

    def schema_versions(self) -> list[bytes]:
        """Distinct `schema_version` values of the entries, in order of first sight; b"" stands for none.
        Raises KernelError "corrupt" for an entry whose checksum or metadata does not fit."""

    def trim(self, start: Position, end: Position) -> None:
        """Drop whole entries that lie outside `start` (inclusive) to `end` (exclusive)."""

    def gaps(self, following: tuple[int, int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """Where ids (ledger, entry) are missing from `following` on, in order: the first that is, and the one that came
        instead. A `following` below 0 is followed by anything; what came twice is no gap."""

    def origins(
        self,
    ) -> list[tuple[tuple[int, int], int | None, str | None, tuple[int, int] | None]]:
        """Of each entry, in order: its (ledger, entry); its publish time, Unix milliseconds, None where damage hides
        it; the cluster that it was replicated from, None where it was produced here; its (ledger, entry) in that
        cluster, None where its replicator did not tell (Pulsar before 3.0.11, 3.3.6 and 4.0.4). Checksums are not
        looked at."""

    def unwrap_compacted(self, after: tuple[int, int] | None = None) -> None:
        """Turn entries of a compacted ledger into those that they hold, with the ids that these had. `after`: the id
        before the first. Raises KernelError "corrupt" for one that is not wrapped so, or out of order."""

class Backlog:
    """How many messages lie where in a topic partition: entries are counted and forgotten, 24 bytes of each stay."""

    def __init__(self, *, published_from: int | None = None) -> None:
        """`published_from`: messages published before this time, Unix milliseconds, count for nothing."""

    def add(self, entries: EntryBatch) -> tuple[int, int]:
        """Count the entries that lie behind those counted before; `entries` is empty afterwards. Returns how many
        messages they have, and how many bytes they take: markers and all but the last chunk of a message have no
        message. An entry that is damaged counts as one."""

    def drop_before(self, position: Position) -> None:
        """Forget the entries before that of the position."""

    def take(
        self,
        start: Position,
        end: Position,
        *,
        messages: int = ...,
        nbytes: int = ...,
        at_least_one: bool = False,
    ) -> tuple[Position, int, int]:
        """The longest part of `start` (inclusive) to `end` (exclusive), as far as it was counted, with no more than so
        many messages and bytes: its end, its messages and its bytes. It ends between entries, but for the limit of
        messages, and that of bytes in its first entry: messages of a batch have even shares of its bytes.
        `at_least_one`: the first message, or the first entry if that has none, belongs to it whatever `nbytes` says."""

class LedgerFrames:
    """Entries `first` to `last` (inclusive) of one ledger, put in order from what any number of bookies send.

    BookKeeper's binary protocol, version 2: READ_ENTRY (operation 2) and BATCH_READ (7), never fencing. Digests are
    verified, the headers that bookies add are taken off.
    """

    def __init__(
        self, ledger: int, first: int, last: int, *, digest: str | None, max_frame_bytes: int
    ) -> None:
        """`digest`: CRC32C, CRC32 or DUMMY; None: not known, one of the first two. Raises KernelError "unsupported"
        for another one."""

    @property
    def next(self) -> int:
        """The first entry that was not taken."""

    @property
    def buffered_bytes(self) -> int:
        """Bytes that wait inside: entries, and beginnings of frames."""

    @property
    def groups(self) -> int:
        """How many groups of more than one entry were given whole."""

    def missing(self, first: int, stop: int, step: int, size: int = 1) -> int:
        """How many entries of the run are not here yet, of groups of `size` in a row that begin with range(first, stop,
        step) and end before `stop`."""

    def read_requests(self, first: int, stop: int, step: int, size: int = 1) -> bytes:
        """A request for what is missing of each group: READ_ENTRY for one entry, else BATCH_READ, whose answer counts
        as if each of its entries had been asked for by itself."""

    def batch_request(self, first: int, stop: int, request_id: int, max_bytes: int) -> bytes:
        """One BATCH_READ request for range(first, stop), as far as it lies in the run."""

    def feed(self, connection: int, data: bytes) -> list[tuple[int | None, int, int, int]]:
        """Take what the socket of this connection gave. Returns what is not just an entry, as (request id, entry,
        code, count): each refused entry of `read_requests` (None, entry, why, 0), with 0 for one that the bookie did
        not get to, behind another of its group; and the answer to each `batch_request` (its id, its first entry, 0 or
        why not, good entries in it). Codes are BookKeeper's; -1 is an entry whose digest does not fit, or that is
        another one. Raises KernelError "corrupt" when this is no bookie's answer to such a request:
        close the connection and `forget` it."""

    def forget(self, connection: int) -> None:
        """The connection is gone: drop the beginning of the frame that it left."""

    def take(self) -> EntryBatch | None:
        """The entries from `next` on, as far as they are here without a gap."""

class FrameDecoder:
    """Splits what a broker sends into frames. Feed it whatever the socket gave, in order.

    Wire format: `u32 total size, u32 command size, BaseCommand[, rest]` (Pulsar binary protocol).
    MESSAGE frames stay inside, per consumer id that was added, and are dropped for any other id; every other
    command is handed out as the bytes of its BaseCommand. A MESSAGE's checksum is verified when it is decoded.
    """

    def __init__(self, max_frame_bytes: int) -> None: ...
    def feed(self, data: bytes) -> list[bytes]:
        """Raises KernelError "corrupt" for a frame longer than `max_frame_bytes` or with lengths that
        contradict each other; the connection is of no use after that."""

    def take_entries(self, consumer_id: int) -> EntryBatch | None:
        """All entries queued for this consumer, oldest first; None when there are none. Duplicate
        delivery is not filtered: ranges do that in the Decoder."""

    def first_entry(self, consumer_id: int) -> tuple[int, int] | None:
        """(ledger, entry) of the oldest entry queued for this consumer; None when there is none."""

    def buffered_bytes(self) -> int:
        """Bytes of the MESSAGE frames that wait inside, over all consumers."""

    def add_consumer(self, consumer_id: int) -> None:
        """Keep the entries that arrive for the consumer from now on."""

    def drop_consumer(self, consumer_id: int) -> None:
        """Forget the consumer and what is queued for it. What still arrives for it is dropped."""

class StoredEntries:
    """The wanted entries of a ledger, out of the bytes of its copy in tiered storage."""

    @property
    def start(self) -> int:
        """Where in the object or file the bytes begin that have to be fed."""

    @property
    def end(self) -> int | None:
        """Behind the last byte that has to be fed; None: as far as the file goes."""

    @property
    def next_entry(self) -> int:
        """The first wanted entry that did not come out yet."""

    @property
    def is_done(self) -> bool:
        """All wanted entries came out; what follows need not be fed."""

    @property
    def has_more(self) -> bool:
        """What was fed holds more than came out: call `feed(b"")` next."""

    def feed(self, data: bytes) -> EntryBatch:
        """Take the bytes that follow, in any pieces, and give the wanted entries that became complete, about
        16 MiB at a time: contiguous ids, verified checksums. Raises KernelError "corrupt" for damage and for an
        entry that is missing or damaged (naming it), after the entries before it came out, and "unsupported"."""

    def finish(self) -> None:
        """Say that there are no more bytes. Raises KernelError "corrupt" unless `done`."""

class ObjectIndex:
    """The index object of a ledger in an object store, format version 1 of Pulsar's jcloud offloader."""

    def __init__(self, ledger: int, data: bytes) -> None:
        """`data`: the whole object. Raises KernelError "corrupt", "unsupported"."""

    @property
    def data_length(self) -> int:
        """Bytes of the data object."""

    @property
    def last_entry(self) -> int:
        """The ledger's last entry, by the ledger's metadata."""

    @property
    def first_missing(self) -> int | None:
        """The first entry that the offloader left out; None as far as the index tells."""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """First entry and offset of each block, in order."""

    def entries(self, first: int, last: int) -> StoredEntries:
        """The entries `first` to `last`, both inclusive. Raises KernelError "corrupt" for other than those
        of the ledger."""

class MapFile:
    """A ledger as Pulsar's file system offloader writes it: the Hadoop SequenceFiles `data` and `index`."""

    def __init__(self, ledger: int, data: bytes, index: bytes) -> None:
        """`data`: its first 64 KiB; `index`: all of it. Raises KernelError "corrupt", "unsupported"."""

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Key and position of the record or block that it lies in, in order, of some keys; the first is -1."""

    def entries(self, first: int, last: int) -> StoredEntries:
        """The entries `first` to `last`, both inclusive."""

class RowFilter(Protocol):
    """Which messages of a range are decoded, by what they say of themselves; `codec.row_filter.RowFilter` is one.

    What is filtered is not decompressed where the entry's metadata tell, never decoded, and needs no schema version; a
    chunked message is taken by the metadata of its last chunk. Checksums are verified all the same. None wants all."""

    @property
    def published_from(self) -> int | None:
        """Only messages published at this time or later, Unix milliseconds."""

    @property
    def published_before(self) -> int | None:
        """Only messages published before this time, Unix milliseconds."""

    @property
    def event_from(self) -> int | None:
        """Only messages with this event time or a later one, Unix milliseconds."""

    @property
    def event_before(self) -> int | None:
        """Only messages with an event time before this, Unix milliseconds, and those without one."""

    @property
    def keys(self) -> AbstractSet[bytes] | None:
        """Only messages with one of these keys, as `__key` shows them."""

    @property
    def slots(self) -> tuple[int, int] | None:
        """Only messages whose ordering key, else key, lies in these hash slots of Key_Shared subscriptions (the second
        exclusive, of 65536); of a message without either it is that of its entry's producer name and sequence id."""

class IntakeOptions(Protocol):
    """How entries are opened; `codec.intake.Intake` is one."""

    @property
    def max_open_chunked(self) -> int:
        """Chunked messages to keep chunks of at the same time (0: no limit); chunks of the oldest are dropped for more,
        and looked back for when its last chunk comes."""

    @property
    def crypto_failure_action(self) -> str:
        """What becomes of an entry that cannot be decrypted. "FAIL": KernelError "encrypted". "DISCARD": no row.
        "CONSUME": one row with batch index -1, the encrypted payload (a bad row unless the value is bytes), and how it
        is encrypted as JSON in the property `__encryption`."""

    @property
    def max_uncompressed(self) -> int | None:
        """Most bytes that the payload of an entry, or of a chunked message, may unpack to; None: 16 times its bytes as
        stored, and at least 80 MiB. Never more than 1 GiB."""

class DecoderOptions(Protocol):
    """What a `Decoder` is made with; `codec.decode.DecoderOptions` is one."""

    @property
    def output_schema(self) -> ArrowSchemaExportable:
        """Value and metadata columns in any order, exactly as they come out; metadata columns are known by name
        (`__key`, `__topic`, `__partition`, `__messageId`, `__publishTime`, `__eventTime`, `__messageProperties`,
        `__orderingKey`, `__producerName`, `__sequenceId`, `__schemaVersion`, `__messageSize`, `__replicatedFrom`,
        `__index`, `__brokerPublishTime`). What it does not name is not decoded."""

    @property
    def topic(self) -> str:
        """Text of `__topic`, without the partition suffix."""

    @property
    def partition(self) -> int:
        """-1 when not partitioned."""

    @property
    def value(self) -> PayloadSchema:
        """A primitive is one value column, `value`; the fields of a record lie at top level, cast from
        `value.value_schema` to `output_schema`; the sides of a pair are the columns `key` and `value`, a record there
        is a struct. Avro messages are resolved to `value.definition`."""

    @property
    def batch_rows(self) -> int:
        """Rows of a full batch; the only bound on memory besides one decompressed entry."""

    @property
    def start(self) -> Position | None:
        """Inclusive; None is unbounded. Messages outside are dropped row by row. A chunked message lies where its last
        chunk lies."""

    @property
    def end(self) -> Position | None:
        """Exclusive; None is unbounded."""

    @property
    def row_filter(self) -> RowFilter: ...
    @property
    def bad_rows(self) -> str:
        """What becomes of a message that does not decode: its value ("payload"), or what a metadata column cannot hold,
        which is null there; and of an entry whose payload cannot be opened ("payload", "unsupported", "too_large"),
        which is one row with batch index -1 and the payload as stored. "fail" raises, "null" makes its value columns
        null, "drop" leaves it out. Damaged entries always raise."""

    @property
    def corrupt_column(self) -> str | None:
        """Name of the output column (binary) that holds the payloads of such messages."""

    @property
    def payload_column(self) -> str | None:
        """Name of the output column (binary) that holds the payloads of messages of which the value columns do not tell
        all: of versions that `keep_payloads` names; JSON with a member that no column holds, or without one for which a
        default stands; Protobuf with a field that no column holds, with the value that an absent field stands for, or
        with a time finer than microseconds; and of bad rows. With it an entry that cannot be opened always raises. The
        output schema must have all value columns."""

    @property
    def intake(self) -> IntakeOptions: ...

class Decoder:
    """Entries of one topic partition to Arrow record batches of one fixed schema."""

    def __init__(self, options: DecoderOptions) -> None:
        """Raises KernelError "schema" when the options contradict each other."""

    def add_writer_schema(self, version: bytes, written: PayloadSchema) -> None:
        """Make a registry version known (b"" is the version of messages that name none), by what its
        messages were written with. Only avro, protobuf and key_value need it. Raises KernelError "schema" when it
        cannot be resolved to the reader's schema."""

    def keep_payloads(self, version: bytes | None) -> None:
        """Put the payload of every message of this version, or of any with None, into `payload_column`."""

    def refuse_version(self, version: bytes, why: str) -> None:
        """Make every message of this version a bad row for the reason `why`. Instead of `add_writer_schema`.
        With bad_rows="fail" the first of them raises KernelError "schema"."""

    def unknown_versions(self, entries: EntryBatch) -> list[bytes]:
        """Versions in `entries` that `add_writer_schema` or `refuse_version` must be called with before
        `push`; [] for value types other than avro, protobuf and key_value."""

    def push(self, entries: EntryBatch) -> None:
        """Take over the entries; `entries` is empty afterwards. Markers and compacted-out messages yield
        no row. Nothing is decompressed before a batch needs it."""

    def next_batch(self, flush: bool) -> ArrowArrayExportable | None:
        """The next record batch: `batch_rows` rows (fewer when they hold more than 32 MiB), or with `flush`
        the remaining 1..batch_rows rows.
        None when there is not enough, or when an entry waits for what `needed_data_keys`, `missing_chunks` or
        `undecided_transactions` name. Raises KernelError "corrupt", "payload", "unsupported", "encrypted" naming
        ledger, entry and batch index; the decoder is of no use after that."""

    def needed_data_keys(self) -> list[tuple[str, bytes]]:
        """Name of the key pair and wrapped data key, for each pair that the waiting entry was encrypted for;
        [] when none waits for a key. One key that is added is enough; else refuse every one."""

    def add_data_key(self, wrapped: bytes, key: bytes) -> None:
        """Make a data key known, for this entry and all later ones."""

    def refuse_data_key(self, wrapped: bytes, why: str) -> None:
        """Say that it cannot be unwrapped; `crypto_failure_action` applies, and an error repeats `why`."""

    def missing_chunks(self) -> tuple[int, int, int] | None:
        """Ledger and entry of the last chunk of the message whose earlier chunks must be looked for, and how
        many chunks it has; None when none waits for chunks. Call `look_back` with what lies before, then
        `end_look_back`."""

    def look_back(self, entries: EntryBatch, restart: bool) -> bool:
        """Keep what the waiting message needs of `entries`, which lie in order before it; `entries` is empty
        afterwards. `restart`: begin a search that reaches further back. True when the first chunk was found: then
        what lies between it and the waiting message is enough. Raises KernelError "corrupt"."""

    def end_look_back(self) -> None:
        """Go on with the chunks found; a message that is still not whole is reported by `take_lost`."""

    def undecided_transactions(self) -> list[tuple[int, int]]:
        """Transactions (most and least significant bits, unsigned) of which `add_transaction` must say whether they
        were aborted; the first entry of an `unfiltered` batch that belongs to one waits. [] when none waits."""

    def add_transaction(self, most: int, least: int, aborted: bool) -> None:
        """Say whether the broker counts the transaction as aborted: then its messages give no rows in `unfiltered`
        entries. For this range."""

    def give_up_transactions(self) -> tuple[int, int] | None:
        """Drop the entry that waits for a transaction and all that was pushed behind it; returns the ledger and the
        entry at which another source, which shows only visible messages, goes on. None when none waits."""

    def chunked_messages(self) -> list[tuple[bytes, tuple[int, int] | None]]:
        """Chunked messages of this range: what names one within its topic partition, and ledger and entry of its
        first chunk if chunks are still to come; None of one that has ended. Not those of which the first chunk lies
        before the range, unless they ended in it, and not more than `max_open_chunked` open ones."""

    def take_lost(self) -> list[tuple[int, int, int, bool]]:
        """Chunked messages that will never be whole, since the last call: ledger and entry of the last chunk,
        number of chunks, and whether the first chunk is there (then one between is missing)."""

    @property
    def discarded(self) -> int:
        """Entries of the range that were dropped because they cannot be decrypted."""

    @property
    def bad_rows(self) -> tuple[int, KernelError | None]:
        """Messages of this range that did not decode, as far as batches came out, and the first one's error."""

    def rewind(
        self, partition: int, start: Position | None, end: Position | None, row_filter: RowFilter
    ) -> None:
        """Decode another range next, of this or another partition of the same topic; known versions stay
        known. Raises KernelError "schema" unless every row of the present range was handed out."""

class SendFrames:
    """SEND frames for one partition, ready for the socket, in order of sequence id."""

    partition: int
    frames: bytes
    first_sequence_id: int
    last_sequence_id: int
    sequence_ids: list[int]
    """`sequence_id` of each CommandSend in `frames`, in order; its receipt carries the same. No two are equal: each
    chunk of a message has its own."""
    ends: list[int]
    """Where each frame ends in `frames`."""
    chunked: list[tuple[int, int]]
    """The frames of each chunked message: the number of its first, and that behind its last."""
    num_messages: int

def within_slots(rows: ArrowArrayExportable, first: int, behind: int) -> ArrowArrayExportable:
    """A column of booleans: which rows a `RowFilter` with the hash slots from `first` up to `behind` (exclusive) wants.
    `rows` has `__orderingKey`, `__key`, `__producerName` and `__sequenceId`, as reads give them; KernelError "schema"
    otherwise."""

def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of the bytes, as RFC 3720 has it."""

def renew_chunks(frames: bytes, attempt: int) -> bytes:
    """The SEND frames of all chunks of one message as another message: with the uuid of its `attempt`, 0 being the one
    that `Encoder` made. Same length. Raises KernelError "corrupt" for other frames."""

class Encoder:
    """Arrow record batches to batched entries inside SEND frames, routed to partitions."""

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
        """`input_schema`: the schema of every batch given to `encode`. Metadata columns by name: `__key`
        (binary or string), `__eventTime` (timestamp), `__messageProperties` (map<string,string>),
        `__orderingKey`; `__partition` (int32; null and -1 leave it to the key or the round), `__deliverAt`
        (timestamp; such a message has an entry of its own), `__replicationClusters` (list of strings, the clusters
        that it is replicated to, empty for none; such a message has an entry of its own), `__sequenceId` (int64: where
        it is there, every row names its sequence id, which must rise in each partition, and has an entry of its own)
        and `__tombstone` (boolean: a null value is written,
        whatever the value is); other columns whose names begin with `__` are ignored; the others are the value:
        one column `value` for primitives, the record's fields (by name) for json, avro and protobuf, the
        columns `key` and `value` for key_value (and no `__key` where they are separated).
        A field of `value.value_schema`, which is in the schema's order, without an input column is
        written as null.
        `compression`: NONE, LZ4, ZLIB, ZSTD, SNAPPY.
        Raises KernelError "schema"."""

    def set_producing(
        self, *, batching: str = "default", chunk_bytes: int | None = None, hashing: str = "JavaStringHash"
    ) -> None:
        """Before the first `encode`. `batching`: default (messages that follow each other), key (an entry holds
        messages of one ordering key, or else key, and names it; only rows of one key keep their order) or none (an
        entry each). `chunk_bytes`: messages above it, or above `max_message_bytes`, are cut into chunks that with
        their metadata are no larger; None: above `max_message_bytes` they are "too_large". `hashing`:
        JavaStringHash or Murmur3_32Hash. Raises KernelError "schema"."""

    def set_data_key(self, key: bytes, wrapped: list[tuple[str, bytes]]) -> None:
        """Encrypt every entry with a data key of 32 bytes, which no other encoder may be given. `wrapped`: name of
        the key pair and wrapped data key. Raises KernelError "schema"."""

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
        """Must be called for every partition in 0..partitions before the first `encode`. `transaction`: most and
        least significant bits of the transaction that its messages belong to."""

    def encode(self, batch: ArrowArrayExportable, publish_time_ms: int) -> list[SendFrames]:
        """Encode all rows; nothing is held back. A row with a `__key` goes to partition
        `(String.hashCode of the key's UTF-8 text & 0x7fffffff) % partitions` (the official Java client's
        default, JavaStringHash; see `set_producing`); rows without a key go round robin, an entry at a time.
        Rows of one partition keep their order. A null value (all value columns null) is written with null_value set
        for primitives and for key_value (separated: when `value` is null, whatever the key); for records
        it is a record of nulls. The key of a separated pair is written as base64 and routes the message.
        `publish_time_ms`: Unix milliseconds, UTC.
        Raises KernelError "payload" (row named), "too_large"."""

    def start_digest(self, topic: str) -> None:
        """From now on count and digest what `encode` gives out and what `digest` is given. `topic`: the full name,
        without partition."""

    def digest(self, batch: ArrowArrayExportable) -> None:
        """Add all rows to the digest as `encode` would, and encode nothing; needs no producers. Raises KernelError
        "payload" (row named)."""

    @property
    def row_digest(self) -> tuple[int, int] | None:
        """Rows since `start_digest`, and the sum modulo 2^64 of a hash of each: of topic, key, ordering key, event
        time, properties and value, so that it does not depend on their order or on how they are sent. None without
        `start_digest`."""
