import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.common.schema.KeyValue;
import org.apache.pulsar.common.schema.KeyValueEncodingType;

/** KEY_VALUE topics: some other case as the key, another as the value, in both encodings. */
final class KeyValueCases {
    private KeyValueCases() {}

    static List<Case> all(List<Case> others) {
        List<Case> found = new ArrayList<>();
        for (KeyValueEncodingType encoding : KeyValueEncodingType.values()) {
            found.add(of(encoding, find(others, "STRING"), find(others, "INT32")));
            found.add(of(encoding, find(others, "AVRO nested"), find(others, "AVRO scalars")));
            found.add(of(encoding, find(others, "JSON scalars"), find(others, "STRING")));
            found.add(of(encoding, find(others, "BYTES"), find(others, "JSON nested")));
        }
        return found;
    }

    private static Case find(List<Case> all, String name) {
        return all.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
    }

    private static Case of(KeyValueEncodingType encoding, Case key, Case value) {
        Schema<KeyValue<Object, Object>> schema = Schema.KeyValue(key.schema(), value.schema(), encoding);
        List<KeyValue<Object, Object>> edges = new ArrayList<>();
        for (int i = 0; i < Math.max(key.edges().size(), value.edges().size()); i++) {
            edges.add(new KeyValue<>(
                    key.edges().get(i % key.edges().size()), value.edges().get(i % value.edges().size())));
        }
        edges.add(new KeyValue<>(null, value.edges().get(0)));
        edges.add(new KeyValue<>(key.edges().get(0), null));
        return Case.of(
                "KEY_VALUE " + encoding + " " + key.name() + " to " + value.name(),
                schema,
                edges,
                random -> new KeyValue<>(key.random().apply(random), value.random().apply(random)),
                pair -> cells(key, value, pair));
    }

    private static ObjectNode cells(Case key, Case value, KeyValue<Object, Object> pair) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        row.set("key", side(key, pair.getKey()));
        row.set("value", side(value, pair.getValue()));
        return row;
    }

    /** A record as an object, a primitive bare. */
    private static com.fasterxml.jackson.databind.JsonNode side(Case side, Object part) {
        if (part == null) {
            return Neutral.of(null);
        }
        var cells = side.cells().apply(part);
        return side.name().contains(" ") ? cells : cells.get("value");
    }
}
