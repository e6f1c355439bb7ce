import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;

/**
 * JSON messages, whose schema is an Avro document: values as Jackson writes those of plain Java classes (logical
 * types as their number, bytes as base64, decimals as numbers, no tags on unions, nothing for null fields), and
 * what such JSON means, in neutral form.
 */
final class JsonValues {
    private static final JsonNodeFactory NODES = JsonNodeFactory.withExactBigDecimals(true);

    private JsonValues() {}

    static JsonNode node(Schema schema, Object value) {
        return switch (schema.getType()) {
            case NULL -> NODES.nullNode();
            case BOOLEAN -> NODES.booleanNode((Boolean) value);
            case INT -> NODES.numberNode((Integer) value);
            case LONG -> NODES.numberNode((Long) value);
            // JSON has no NaN, and the client's generic reader takes -0.0 for 0.0: adding 0 makes it so.
            case FLOAT -> NODES.numberNode(Float.isFinite((Float) value) ? (Float) value + 0f : 0f);
            case DOUBLE -> NODES.numberNode(Double.isFinite((Double) value) ? (Double) value + 0d : 0d);
            case STRING, ENUM -> NODES.textNode(value.toString());
            case BYTES -> bytes(schema, AvroValues.bytes((ByteBuffer) value));
            case FIXED -> bytes(schema, ((GenericFixed) value).bytes());
            case UNION -> node(schema.getTypes().get(GenericData.get().resolveUnion(schema, value)), value);
            case ARRAY -> {
                ArrayNode items = NODES.arrayNode();
                ((List<?>) value).forEach(item -> items.add(node(schema.getElementType(), item)));
                yield items;
            }
            case MAP -> {
                ObjectNode pairs = NODES.objectNode();
                ((Map<?, ?>) value).forEach((k, v) -> pairs.set(k.toString(), node(schema.getValueType(), v)));
                yield pairs;
            }
            case RECORD -> {
                ObjectNode row = NODES.objectNode();
                for (Schema.Field field : schema.getFields()) {
                    Object cell = ((GenericRecord) value).get(field.pos());
                    if (cell != null) {
                        row.set(field.name(), node(field.schema(), cell));
                    }
                }
                yield row;
            }
        };
    }

    private static JsonNode bytes(Schema schema, byte[] data) {
        return AvroValues.isLogical(schema)
                ? NODES.numberNode(new BigDecimal(new BigInteger(data), (int) schema.getObjectProp("scale")))
                : NODES.binaryNode(data);
    }

    static JsonNode neutral(Schema schema, JsonNode node) {
        if (node == null || node.isNull()) {
            return Neutral.of(null);
        }
        return switch (schema.getType()) {
            case NULL -> Neutral.of(null);
            case BOOLEAN -> Neutral.of(node.booleanValue());
            case INT, LONG -> Neutral.of(AvroValues.isLogical(schema) ? moment(schema, node) : (Object) node.longValue());
            case FLOAT -> Neutral.of((double) (float) node.doubleValue());
            case DOUBLE -> Neutral.of(node.doubleValue());
            case STRING, ENUM -> Neutral.of(node.textValue());
            case BYTES, FIXED -> meaning(schema, node);
            case UNION -> union(schema, node);
            case ARRAY -> {
                ArrayNode items = Neutral.JSON.createArrayNode();
                node.forEach(item -> items.add(neutral(schema.getElementType(), item)));
                yield items;
            }
            case MAP -> {
                ObjectNode pairs = Neutral.JSON.createObjectNode();
                node.fields().forEachRemaining(
                        pair -> pairs.set(pair.getKey(), neutral(schema.getValueType(), pair.getValue())));
                yield pairs;
            }
            case RECORD -> {
                ObjectNode row = Neutral.JSON.createObjectNode();
                schema.getFields().forEach(
                        field -> row.set(field.name(), neutral(field.schema(), node.get(field.name()))));
                yield row;
            }
        };
    }

    /** A number of the schema's unit, or the text that this package writes. */
    private static Object moment(Schema schema, JsonNode node) {
        if (node.isNumber()) {
            return AvroValues.moment(schema, node.longValue());
        }
        String kind = schema.getLogicalType().getName();
        if (kind.equals("date")) {
            return LocalDate.parse(node.textValue());
        }
        if (kind.startsWith("time-")) {
            return LocalTime.parse(node.textValue());
        }
        return kind.startsWith("local-") ? LocalDateTime.parse(node.textValue()) : Instant.parse(node.textValue());
    }

    private static JsonNode meaning(Schema schema, JsonNode node) {
        if (AvroValues.isLogical(schema)) {
            return Neutral.of(node.decimalValue().setScale((int) schema.getObjectProp("scale")));
        }
        try {
            return Neutral.of(node.binaryValue());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static JsonNode union(Schema schema, JsonNode node) {
        List<Schema> types = schema.getTypes().stream().filter(s -> s.getType() != Schema.Type.NULL).toList();
        Schema chosen = types.stream().filter(type -> fits(type, node)).findFirst().orElseThrow();
        return AvroValues.union(types, chosen, type -> neutral(type, node));
    }

    private static boolean fits(Schema schema, JsonNode node) {
        return switch (schema.getType()) {
            case BOOLEAN -> node.isBoolean();
            case INT, LONG -> node.isNumber() || AvroValues.isLogical(schema) && node.isTextual();
            case FLOAT, DOUBLE -> node.isNumber();
            case STRING, ENUM, BYTES, FIXED -> node.isTextual() || node.isBinary() || node.isNumber();
            case ARRAY -> node.isArray();
            default -> node.isObject();
        };
    }
}
