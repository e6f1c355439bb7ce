import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;

/**
 * The official Java client with the schema of a case. Argument: service URL. Standard input: a JSON array of jobs,
 * each with a topic and the name of a case. Standard output: a JSON array of their answers.
 *
 * <ul>
 *   <li>register: make the topic with the schema; answers [].
 *   <li>produce: send the edges, a null and `count` values that follow from `seed`; answers [].
 *   <li>read: everything in the topic as neutral JSON; null for a null value.
 * </ul>
 */
public final class TypedClient {
    private TypedClient() {}

    public static void main(String[] arguments) throws Exception {
        ArrayNode answers = Neutral.JSON.createArrayNode();
        Clients.run(PulsarClient.builder().serviceUrl(arguments[0]), client -> {
            for (JsonNode job : Neutral.JSON.readTree(System.in)) {
                Case each = AllCases.named(job.get("case").asText());
                try {
                    answers.add(job.get("do").asText().equals("read") ? read(client, job, each) : produce(client, job, each));
                } catch (Exception error) {
                    throw new IllegalStateException(job.toString(), error);
                }
            }
        });
        System.out.println(Neutral.JSON.writeValueAsString(answers));
    }

    private static ArrayNode produce(PulsarClient client, JsonNode job, Case each) throws Exception {
        try (Producer<Object> producer = client.newProducer(each.schema())
                .topic(job.get("topic").asText())
                .compressionType(CompressionType.valueOf(job.path("compression").asText("NONE")))
                .batchingMaxPublishDelay(50, TimeUnit.MILLISECONDS)
                .blockIfQueueFull(true)
                .create()) {
            if (job.get("do").asText().equals("produce")) {
                Random source = new Random(job.get("seed").asLong());
                for (Object value : each.values(source, job.get("count").asInt())) {
                    producer.newMessage().value(value).sendAsync();
                }
                producer.flush();
            }
        }
        return Neutral.JSON.createArrayNode();
    }

    private static ArrayNode read(PulsarClient client, JsonNode job, Case each) throws Exception {
        ArrayNode found = Neutral.JSON.createArrayNode();
        try (Reader<Object> reader = client.newReader(each.schema())
                .topic(job.get("topic").asText())
                .startMessageId(MessageId.earliest)
                .create()) {
            while (Clients.hasMessage(reader)) {
                Message<Object> message = reader.readNext();
                Object value = message.getValue();
                found.add(value == null ? Neutral.of(null) : each.cells().apply(value));
            }
        }
        return found;
    }
}
