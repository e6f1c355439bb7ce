import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.pulsar.common.naming.TopicName;

/**
 * Parses names with Pulsar's own class.
 *
 * <p>Reads `[{"names": [...]}]` from standard input, and prints for each name `[full name, partition index]`, or
 * null for an invalid name.
 */
public final class TopicNames {
    // Names have line ends that JSON would leave as they are.
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);

    public static void main(String[] arguments) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        for (JsonNode name : JSON.readTree(System.in).get(0).get("names")) {
            try {
                TopicName topic = TopicName.get(name.asText());
                // Brokers require that too, and refuse a partition without a topic.
                TopicName.get(topic.getPartitionedTopicName());
                found.addArray().add(topic.toString()).add(topic.getPartitionIndex());
            } catch (IllegalArgumentException fault) {
                found.addNull();
            }
        }
        System.out.println(JSON.writeValueAsString(found));
    }
}
