import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.util.Base64;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.Field;
import org.apache.pulsar.client.api.schema.GenericRecord;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;

/**
 * Key-value messages by the official Java client. Argument: service URL. Standard input: a JSON array of jobs.
 * Standard output: a JSON array of their answers. A side is named like `INT32`, `AVRO Id` or `JSON Order`; a read
 * whose key is `AUTO` takes the schema from the topic.
 */
public class KeyValueClient {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static class Id {
        public long id;
        public String region;
    }

    public static class Order {
        public String item;
        public Double amount;
    }

    /** What an order became: with a field more. */
    public static class NotedOrder {
        public String item;
        public Double amount;
        public String note;
    }

    public static void main(String[] arguments) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        Clients.run(PulsarClient.builder().serviceUrl(arguments[0]), client -> {
            for (JsonNode job : JSON.readTree(System.in)) {
                boolean produces = job.get("do").asText().equals("produce");
                answers.add(produces ? produce(client, job) : read(client, job));
            }
        });
        System.out.println(JSON.writeValueAsString(answers));
    }

    @SuppressWarnings("unchecked")
    private static ArrayNode produce(PulsarClient client, JsonNode job) throws Exception {
        try (Producer<KeyValue<Object, Object>> producer = client.newProducer(pair(job))
                .topic(job.get("topic").asText())
                .hashingScheme(HashingScheme.JavaStringHash)
                .enableBatching(job.path("batching").asBoolean(true))
                .create()) {
            for (JsonNode each : job.get("messages")) {
                KeyValue<Object, Object> value = each.isNull() ? null : new KeyValue<>(
                        value(job.get("key").asText(), each.get("key")),
                        value(job.get("value").asText(), each.get("value")));
                producer.newMessage().value(value).sendAsync();
            }
            producer.flush();
        }
        return JSON.createArrayNode();
    }

    private static ArrayNode read(PulsarClient client, JsonNode job) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        Schema<?> schema = job.get("key").asText().equals("AUTO") ? Schema.AUTO_CONSUME() : pair(job);
        try (Reader<?> reader = client.newReader(schema).topic(job.get("topic").asText())
                .startMessageId(MessageId.earliest).create()) {
            while (Clients.hasMessage(reader)) {
                found.add(row(reader.readNext()));
            }
        }
        return found;
    }

    private static ObjectNode row(Message<?> message) {
        ObjectNode row = JSON.createObjectNode();
        Object value = message.getValue();
        if (value instanceof GenericRecord record) {
            value = record.getNativeObject();
        }
        KeyValue<?, ?> pair = (KeyValue<?, ?>) value;
        row.set("key", pair == null ? null : cell(pair.getKey()));
        row.set("value", pair == null ? null : cell(pair.getValue()));
        row.put("keyBytes", message.getKeyBytes() == null ? null : Base64.getEncoder().encodeToString(message.getKeyBytes()));
        row.put("topic", message.getTopicName());
        return row;
    }

    private static JsonNode cell(Object value) {
        if (!(value instanceof GenericRecord record)) {
            return JSON.valueToTree(value);
        }
        ObjectNode fields = JSON.createObjectNode();
        for (Field field : record.getFields()) {
            Object each = isAbsent(record, field.getName()) ? null : record.getField(field);
            fields.set(field.getName(), JSON.valueToTree(each instanceof CharSequence ? each.toString() : each));
        }
        return fields;
    }

    /** A Protobuf message gives the default of a field that it does not have. */
    private static boolean isAbsent(GenericRecord record, String name) {
        if (!(record.getNativeObject() instanceof com.google.protobuf.Message message)) {
            return false;
        }
        FieldDescriptor field = message.getDescriptorForType().findFieldByName(name);
        return field.hasPresence() && !message.hasField(field);
    }

    @SuppressWarnings("unchecked")
    private static Schema<KeyValue<Object, Object>> pair(JsonNode job) throws Exception {
        Schema<Object> key = (Schema<Object>) schema(job.get("key").asText());
        Schema<Object> value = (Schema<Object>) schema(job.get("value").asText());
        return Schema.KeyValue(key, value, KeyValueEncodingType.valueOf(job.get("encoding").asText()));
    }

    private static Schema<?> schema(String side) throws Exception {
        return switch (side) {
            case "BYTES" -> Schema.BYTES;
            case "STRING" -> Schema.STRING;
            case "INT32" -> Schema.INT32;
            case "INT64" -> Schema.INT64;
            default -> side.startsWith("AVRO") ? Schema.AVRO(record(side)) : Schema.JSON(record(side));
        };
    }

    private static Class<?> record(String side) throws ClassNotFoundException {
        return switch (side.substring(5)) {
            case "Id" -> Id.class;
            case "Order" -> Order.class;
            case "NotedOrder" -> NotedOrder.class;
            default -> throw new ClassNotFoundException(side);
        };
    }

    private static Object value(String side, JsonNode node) throws Exception {
        if (node.isNull()) {
            return null;
        }
        return switch (side) {
            case "BYTES" -> Base64.getDecoder().decode(node.asText());
            case "STRING" -> node.asText();
            case "INT32" -> node.asInt();
            case "INT64" -> node.asLong();
            default -> JSON.treeToValue(node, record(side));
        };
    }
}
