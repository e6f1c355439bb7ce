import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.google.protobuf.GeneratedMessageV3;
import com.google.protobuf.Message.Builder;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.GenericRecord;

/**
 * The official Java client with Protobuf messages: those that Pulsar and BookKeeper bring along, as JSON.
 * Argument: service URL. Standard input: a JSON array of jobs. Standard output: a JSON array of their answers.
 */
public class ProtobufClient {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        Clients.run(PulsarClient.builder().serviceUrl(arguments[0]), client -> {
            for (JsonNode job : JSON.readTree(System.in)) {
                answers.add(job.get("do").asText().equals("produce") ? produce(client, job) : read(client, job));
            }
        });
        System.out.println(JSON.writeValueAsString(answers));
    }

    @SuppressWarnings("unchecked")
    private static ArrayNode produce(PulsarClient client, JsonNode job) throws Exception {
        Class<GeneratedMessageV3> type = (Class<GeneratedMessageV3>) Class.forName(job.get("class").asText());
        Producer<GeneratedMessageV3> producer =
                client.newProducer(schema(job, type)).topic(job.get("topic").asText()).create();
        for (JsonNode each : job.get("messages")) {
            Builder builder = (Builder) type.getMethod("newBuilder").invoke(null);
            JsonFormat.parser().merge(each.toString(), builder);
            producer.newMessage().value((GeneratedMessageV3) builder.build()).sendAsync();
        }
        producer.flush();
        producer.close();
        return JSON.createArrayNode();
    }

    @SuppressWarnings("unchecked")
    private static ArrayNode read(PulsarClient client, JsonNode job) throws Exception {
        Schema<?> schema = Schema.AUTO_CONSUME();
        if (job.has("class")) {
            schema = schema(job, (Class<GeneratedMessageV3>) Class.forName(job.get("class").asText()));
        }
        ArrayNode found = JSON.createArrayNode();
        try (Reader<?> reader = client.newReader(schema)
                .topic(job.get("topic").asText())
                .startMessageId(MessageId.earliest)
                .create()) {
            while (Clients.hasMessage(reader)) {
                Message<?> message = reader.readNext();
                Object value = message.getValue();
                Object content = value instanceof GenericRecord record ? record.getNativeObject() : value;
                found.add(JSON.readTree(JsonFormat.printer().preservingProtoFieldNames().print((MessageOrBuilder) content)));
            }
        }
        return found;
    }

    private static Schema<GeneratedMessageV3> schema(JsonNode job, Class<GeneratedMessageV3> type) {
        return job.path("schema").asText().equals("PROTOBUF") ? Schema.PROTOBUF(type) : Schema.PROTOBUF_NATIVE(type);
    }
}
