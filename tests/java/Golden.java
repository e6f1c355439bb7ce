import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.schema.SchemaInfoProvider;
import org.apache.pulsar.client.impl.BatchMessageIdImpl;
import org.apache.pulsar.client.impl.MessageIdImpl;
import org.apache.pulsar.client.impl.MessageImpl;
import org.apache.pulsar.client.impl.TypedMessageBuilderImpl;
import org.apache.pulsar.common.api.proto.CompressionType;
import org.apache.pulsar.common.api.proto.MessageMetadata;
import org.apache.pulsar.common.api.proto.SingleMessageMetadata;
import org.apache.pulsar.common.compression.CompressionCodecProvider;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.schema.SchemaInfo;

/**
 * Prints the golden entries: for every case entries as the classes of the official client make them, and what the
 * same classes read from their bytes. Nothing depends on clock, chance or machine, so every run prints the same.
 */
public final class Golden {
    private static final int RANDOM_VALUES = 2;
    private static final long PUBLISHED = 1_700_000_000_123L;
    private static final long EVENT = 1_600_000_000_000L;
    private static final byte[] VERSION = {0, 0, 0, 0, 0, 0, 0, 3};
    private static final CompressionType[] CODECS = CompressionType.values();

    private Golden() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        int number = 0;
        for (Case each : AllCases.all()) {
            each.schema().setSchemaInfoProvider(only(each.schema().getSchemaInfo()));
            List<Object> values = each.values(new Random(number), RANDOM_VALUES);
            if (each.name().equals("STRING")) {
                for (CompressionType codec : CODECS) {
                    out.println(batched(each, values, codec));
                    out.println(single(each, values.get(1), codec));
                }
            } else {
                out.println(batched(each, values, CODECS[number % CODECS.length]));
                out.println(single(each, values.get(0), CODECS[(number + 2) % CODECS.length]));
            }
            number++;
        }
    }

    private static SchemaInfoProvider only(SchemaInfo info) {
        return new SchemaInfoProvider() {
            @Override
            public CompletableFuture<SchemaInfo> getSchemaByVersion(byte[] version) {
                return CompletableFuture.completedFuture(info);
            }

            @Override
            public CompletableFuture<SchemaInfo> getLatestSchema() {
                return CompletableFuture.completedFuture(info);
            }

            @Override
            public String getTopicName() {
                return "golden";
            }
        };
    }

    private static String batched(Case each, List<Object> values, CompressionType codec) throws Exception {
        ByteBuf payload = Unpooled.buffer();
        List<Integer> sizes = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            MessageImpl<Object> message = message(each, values.get(i), i);
            Commands.serializeSingleMessageInBatchWithPayload(
                    message.getMessageBuilder(), message.getDataBuffer(), payload);
            sizes.add(message.getDataBuffer().readableBytes());
        }
        MessageMetadata metadata = metadata(new MessageMetadata())
                .setNumMessagesInBatch(values.size()).setHighestSequenceId(41 + values.size() - 1);
        return line(each, codec, metadata, payload);
    }

    private static String single(Case each, Object value, CompressionType codec) throws Exception {
        MessageImpl<Object> message = message(each, value, 0);
        return line(each, codec, metadata(message.getMessageBuilder()), message.getDataBuffer());
    }

    @SuppressWarnings("unchecked")
    private static MessageImpl<Object> message(Case each, Object value, int index) {
        var builder = new TypedMessageBuilderImpl<>(null, each.schema());
        builder.value(value).sequenceId(41 + index).eventTime(index == 1 ? 0 : EVENT + index).property("p", "v" + index);
        if (!each.name().startsWith("KEY_VALUE SEPARATED")) {
            if (index % 2 == 0) {
                builder.key("key-" + index);
            } else {
                builder.keyBytes(new byte[] {0, (byte) index, -1});
            }
        }
        if (index == 1) {
            builder.orderingKey("order".getBytes(StandardCharsets.UTF_8));
        }
        MessageImpl<Object> message = (MessageImpl<Object>) builder.getMessage();
        metadata(message.getMessageBuilder());
        return message;
    }

    /** What a producer sets just before it sends. */
    private static MessageMetadata metadata(MessageMetadata metadata) {
        if (!metadata.hasSequenceId()) {
            metadata.setSequenceId(41);
        }
        return metadata.setProducerName("java-producer").setPublishTime(PUBLISHED).setSchemaVersion(VERSION);
    }

    private static String line(Case each, CompressionType codec, MessageMetadata metadata, ByteBuf payload)
            throws Exception {
        metadata.setUncompressedSize(payload.readableBytes());
        if (codec != CompressionType.NONE) {
            metadata.setCompression(codec);
        }
        ByteBuf packed = CompressionCodecProvider.getCompressionCodec(codec).encode(payload);
        ByteBuf entry = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, metadata, packed);
        ObjectNode line = Neutral.JSON.createObjectNode();
        line.put("name", each.name()).put("codec", codec.name()).put("batched", metadata.hasNumMessagesInBatch());
        SchemaInfo info = each.schema().getSchemaInfo();
        ObjectNode schema = line.putObject("schema").put("name", info.getName()).put("type", info.getType().name());
        schema.put("data", Base64.getEncoder().encodeToString(info.getSchema()));
        new TreeMap<>(info.getProperties()).forEach(schema.putObject("properties")::put);
        line.put("entry", ByteBufUtil.hexDump(entry));
        ArrayNode rows = line.putArray("rows");
        for (Message<Object> message : read(each, entry)) {
            rows.add(row(each, message));
        }
        return Neutral.JSON.writeValueAsString(line);
    }

    /** The messages of an entry, as a consumer makes them from its bytes. */
    private static List<Message<Object>> read(Case each, ByteBuf entry) throws Exception {
        ByteBuf bytes = entry.copy();
        if (!Commands.hasChecksum(bytes) || Commands.readChecksum(bytes) != checksum(bytes)) {
            throw new IllegalStateException("checksum");
        }
        MessageMetadata metadata = Commands.parseMessageMetadata(bytes);
        ByteBuf payload = CompressionCodecProvider.getCompressionCodec(metadata.getCompression())
                .decode(bytes, metadata.getUncompressedSize());
        List<Message<Object>> found = new ArrayList<>();
        if (!metadata.hasNumMessagesInBatch()) {
            found.add(MessageImpl.create("golden", new MessageIdImpl(7, 0, 2), metadata, payload, Optional.empty(),
                    null, each.schema(), 0, false, -1));
            return found;
        }
        int size = metadata.getNumMessagesInBatch();
        for (int i = 0; i < size; i++) {
            SingleMessageMetadata single = new SingleMessageMetadata();
            ByteBuf body = Commands.deSerializeSingleMessageInBatch(payload, single, i, size);
            found.add(MessageImpl.create("golden", new BatchMessageIdImpl(7, 0, 2, i), metadata, single, body,
                    Optional.empty(), null, each.schema(), 0, false, -1));
        }
        return found;
    }

    private static int checksum(ByteBuf bytes) {
        return com.scurrilous.circe.checksum.Crc32cIntChecksum.computeChecksum(bytes);
    }

    private static ObjectNode row(Case each, Message<Object> message) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        Object value = message.getValue();
        row.set("value", value == null ? Neutral.of(null) : each.cells().apply(value));
        MessageMetadata metadata = ((MessageImpl<?>) message).getMessageBuilder();
        byte[] data = message.getData() == null ? new byte[0] : message.getData();
        row.put("payload", metadata.isNullValue() ? null : ByteBufUtil.hexDump(data));
        if (each.name().equals("STRING") || each.name().startsWith("KEY_VALUE")) {
            about(row.putObject("metadata"), message, data.length);
        }
        return row;
    }

    private static void about(ObjectNode about, Message<Object> message, int size) {
        about.set("__key", Neutral.of(message.hasKey() ? message.getKeyBytes() : null));
        about.set("__orderingKey", Neutral.of(message.getOrderingKey()));
        about.put("__sequenceId", message.getSequenceId());
        about.set("__publishTime", Neutral.of(Instant.ofEpochMilli(message.getPublishTime())));
        about.set("__eventTime", Neutral.of(
                message.getEventTime() == 0 ? null : Instant.ofEpochMilli(message.getEventTime())));
        about.set("__messageProperties", Neutral.JSON.valueToTree(message.getProperties()));
        about.put("__producerName", message.getProducerName());
        about.put("__schemaVersion", ByteBuffer.wrap(message.getSchemaVersion()).getLong());
        about.put("__messageSize", size);
    }
}
