import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigInteger;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.impl.MessageImpl;
import org.apache.pulsar.client.impl.TopicMessageImpl;

/**
 * The official Java client, for what the Python one cannot do: byte keys, primitive schemas, JavaStringHash.
 * Argument: service URL. Standard input: a JSON array of jobs. Standard output: a JSON array of their answers.
 */
public class OfficialClient {
    private static final ObjectMapper JSON = new ObjectMapper();

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
        Schema<Object> schema = (Schema<Object>) schema(job);
        boolean byKey = job.path("keyBased").asBoolean();
        Producer<Object> producer = client.newProducer(schema)
                .topic(job.get("topic").asText())
                .hashingScheme(HashingScheme.valueOf(job.path("hashing").asText("JavaStringHash")))
                .compressionType(CompressionType.valueOf(job.path("compression").asText("NONE")))
                .enableBatching(job.path("batching").asBoolean(true))
                .batcherBuilder(byKey ? BatcherBuilder.KEY_BASED : BatcherBuilder.DEFAULT)
                .batchingMaxPublishDelay(50, TimeUnit.MILLISECONDS)
                .blockIfQueueFull(true)
                .create();
        ArrayNode none = JSON.createArrayNode();
        for (JsonNode each : job.get("messages")) {
            message(producer, job, each).sendAsync();
        }
        producer.flush();
        producer.close();
        return none;
    }

    private static TypedMessageBuilder<Object> message(Producer<Object> producer, JsonNode job, JsonNode each) {
        TypedMessageBuilder<Object> message = producer.newMessage();
        message.value(each.hasNonNull("value") ? value(job.get("schema").asText(), each.get("value").asText()) : null);
        if (each.has("key")) {
            message.key(each.get("key").asText());
        }
        if (each.has("keyBytes")) {
            message.keyBytes(bytes(each.get("keyBytes")));
        }
        if (each.has("eventTime")) {
            message.eventTime(each.get("eventTime").asLong());
        }
        each.path("properties").fields().forEachRemaining(pair -> message.property(pair.getKey(), pair.getValue().asText()));
        return message;
    }

    private static ArrayNode read(PulsarClient client, JsonNode job) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        try (Reader<?> reader = client.newReader(schema(job))
                .topic(job.get("topic").asText())
                .startMessageId(MessageId.earliest)
                .create()) {
            while (Clients.hasMessage(reader)) {
                found.add(row(reader.readNext()));
            }
        }
        return found;
    }

    private static ObjectNode row(Message<?> message) {
        Message<?> inner = message instanceof TopicMessageImpl<?> wrapped ? wrapped.getMessage() : message;
        ObjectNode row = JSON.createObjectNode();
        Object value = inner.getValue();
        row.put("value", value instanceof byte[] data ? text(data) : value == null ? null : plain(value));
        row.put("keyBytes", inner.hasKey() ? text(inner.getKeyBytes()) : null);
        row.put("eventTime", inner.getEventTime());
        row.put("replicatedFrom", inner.getReplicatedFrom());
        row.put("index", inner.getIndex().orElse(null));
        row.put("brokerPublishTime", inner.getBrokerPublishTime().orElse(null));
        row.put("partition", Integer.parseInt(((MessageImpl<?>) inner).getMessageId().toString().split("[:;]")[2]));
        inner.getProperties().forEach(row.putObject("properties")::put);
        return row;
    }

    /** Java's old classes of time print in the machine's zone: rather their milliseconds since 1970. */
    private static String plain(Object value) {
        return value instanceof java.util.Date date ? String.valueOf(date.getTime()) : value.toString();
    }

    private static Object value(String schema, String text) {
        return switch (schema) {
            case "BYTES" -> Base64.getDecoder().decode(text);
            case "STRING" -> text;
            case "BOOLEAN" -> Boolean.valueOf(text);
            case "INT8" -> Byte.valueOf(text);
            case "INT16" -> Short.valueOf(text);
            case "INT32" -> Integer.valueOf(text);
            case "INT64" -> new BigInteger(text).longValueExact();
            case "FLOAT" -> Float.valueOf(text);
            case "DOUBLE" -> Double.valueOf(text);
            case "DATE" -> new java.util.Date(Long.parseLong(text));
            case "TIME" -> new java.sql.Time(Long.parseLong(text));
            case "TIMESTAMP" -> new java.sql.Timestamp(Long.parseLong(text));
            case "INSTANT" -> java.time.Instant.parse(text);
            case "LOCAL_DATE" -> java.time.LocalDate.parse(text);
            case "LOCAL_TIME" -> java.time.LocalTime.parse(text);
            case "LOCAL_DATE_TIME" -> java.time.LocalDateTime.parse(text);
            default -> throw new IllegalArgumentException(schema);
        };
    }

    private static Schema<?> schema(JsonNode job) {
        return switch (job.get("schema").asText()) {
            case "BYTES" -> Schema.BYTES;
            case "STRING" -> Schema.STRING;
            case "BOOLEAN" -> Schema.BOOL;
            case "INT8" -> Schema.INT8;
            case "INT16" -> Schema.INT16;
            case "INT32" -> Schema.INT32;
            case "INT64" -> Schema.INT64;
            case "FLOAT" -> Schema.FLOAT;
            case "DOUBLE" -> Schema.DOUBLE;
            case "DATE" -> Schema.DATE;
            case "TIME" -> Schema.TIME;
            case "TIMESTAMP" -> Schema.TIMESTAMP;
            case "INSTANT" -> Schema.INSTANT;
            case "LOCAL_DATE" -> Schema.LOCAL_DATE;
            case "LOCAL_TIME" -> Schema.LOCAL_TIME;
            case "LOCAL_DATE_TIME" -> Schema.LOCAL_DATE_TIME;
            default -> throw new IllegalArgumentException(job.toString());
        };
    }

    private static String text(byte[] data) {
        return Base64.getEncoder().encodeToString(data);
    }

    private static byte[] bytes(JsonNode node) {
        return Base64.getDecoder().decode(node.asText());
    }
}
