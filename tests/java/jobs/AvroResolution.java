import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Collection;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.io.DecoderFactory;

/**
 * What Avro's Java library makes of a message: standard input is {@code {"writer", "reader", "payload" in base64}},
 * standard output {@code {"value"}} or {@code {"refused"}}. Bytes are {@code {"$": hexadecimal}}, logical types are
 * their bare values.
 */
public final class AvroResolution {
    private static final ObjectMapper JSON = new ObjectMapper();

    private AvroResolution() {}

    public static void main(String[] arguments) throws Exception {
        JsonNode job = JSON.readTree(System.in);
        ObjectNode answer = JSON.createObjectNode();
        try {
            // Java's readers apply aliases twice unless the once renamed schema is the reader's: a swap is undone then,
            // and a chain refused. The specification, and this, apply them once.
            Schema renamed = Schema.applyAliases(schema(job.get("writer")), schema(job.get("reader")));
            Schema plain = schema(withoutAliases(job.get("reader")));
            GenericDatumReader<Object> reader = new GenericDatumReader<>(renamed, plain);
            byte[] payload = Base64.getDecoder().decode(job.get("payload").asText());
            answer.set("value", node(reader.read(null, DecoderFactory.get().binaryDecoder(payload, null))));
        } catch (AvroRuntimeException | java.io.IOException refused) {
            answer.put("refused", refused.toString());
        }
        System.out.print(JSON.writeValueAsString(answer));
    }

    private static Schema schema(JsonNode document) {
        // As Pulsar's client parses.
        return new Schema.Parser().setValidateDefaults(false).parse(document.toString());
    }

    private static JsonNode withoutAliases(JsonNode node) {
        JsonNode copy = node.deepCopy();
        // It finds no parents below parents.
        while (!copy.findParents("aliases").isEmpty()) {
            copy.findParents("aliases").forEach(parent -> ((ObjectNode) parent).remove("aliases"));
        }
        return copy;
    }

    private static JsonNode node(Object value) {
        if (value instanceof IndexedRecord record) {
            ObjectNode made = JSON.createObjectNode();
            for (Schema.Field field : record.getSchema().getFields()) {
                made.set(field.name(), node(record.get(field.pos())));
            }
            return made;
        }
        if (value instanceof Collection<?> items) {
            ArrayNode made = JSON.createArrayNode();
            items.forEach(item -> made.add(node(item)));
            return made;
        }
        if (value instanceof Map<?, ?> pairs) {
            ObjectNode made = JSON.createObjectNode();
            pairs.forEach((key, item) -> made.set(key.toString(), node(item)));
            return made;
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] data = new byte[buffer.remaining()];
            buffer.duplicate().get(data);
            return bytes(data);
        }
        if (value instanceof GenericFixed fixed) {
            return bytes(fixed.bytes());
        }
        if (value instanceof Number || value instanceof Boolean || value == null) {
            return JSON.valueToTree(value instanceof Float number ? (Object) number.doubleValue() : value);
        }
        return JSON.getNodeFactory().textNode(value.toString());
    }

    private static JsonNode bytes(byte[] data) {
        return JSON.createObjectNode().put("$", HexFormat.of().formatHex(data));
    }
}
