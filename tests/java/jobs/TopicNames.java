import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.pulsar.common.naming.TopicName;

/**
 * What Pulsar's own class makes of names. Reads {@code [{"names": [...]}]} from standard input, and prints for each name
 * {@code [full name, partition index]}, or null for what is none.
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
                // Brokers ask for that too, and refuse a partition of nothing.
                TopicName.get(topic.getPartitionedTopicName());
                found.addArray().add(topic.toString()).add(topic.getPartitionIndex());
            } catch (IllegalArgumentException fault) {
                found.addNull();
            }
        }
        System.out.println(JSON.writeValueAsString(found));
    }
}
