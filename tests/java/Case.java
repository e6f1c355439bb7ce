import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.apache.pulsar.client.api.Schema;

/**
 * One way of typing a topic: a schema of the official client, values to write, and how a value looks in neutral JSON.
 *
 * @param name   what tests call it; begins with the schema type
 * @param schema of the official client
 * @param edges  values that every run writes
 * @param random makes any other value
 * @param cells  a value that the schema decoded, as an object of the columns that a reader of the topic should see
 */
record Case(
        String name,
        Schema<Object> schema,
        List<Object> edges,
        Function<Random, Object> random,
        Function<Object, JsonNode> cells) {

    @SuppressWarnings("unchecked")
    static <T> Case of(
            String name, Schema<T> schema, List<T> edges, Function<Random, T> random, Function<T, JsonNode> cells) {
        return new Case(
                name, (Schema<Object>) schema, (List<Object>) edges, random::apply, value -> cells.apply((T) value));
    }

    /** The edges, then `count` random values, and a null in between. */
    List<Object> values(Random source, int count) {
        List<Object> found = new ArrayList<>(edges);
        found.add(null);
        for (int i = 0; i < count; i++) {
            found.add(random.apply(source));
        }
        return found;
    }
}
