import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;

/** Values of any Avro schema in Avro's generic classes: made from random numbers, and as neutral JSON. */
final class AvroValues {
    private static final int MOST_ITEMS = 3;

    private AvroValues() {}

    /** A value of `schema`; every union branch, length and sign comes up sooner or later. */
    static Object random(Schema schema, Random source) {
        return switch (schema.getType()) {
            case NULL -> null;
            case BOOLEAN -> source.nextBoolean();
            case INT -> isLogical(schema) ? (int) logicalNumber(schema, source) : source.nextInt();
            case LONG -> isLogical(schema) ? logicalNumber(schema, source) : source.nextLong();
            case FLOAT -> pick(PrimitiveCases.floats(), (float) source.nextGaussian(), source);
            case DOUBLE -> pick(PrimitiveCases.doubles(), source.nextGaussian(), source);
            case STRING -> isLogical(schema)
                    ? new UUID(source.nextLong(), source.nextLong()).toString()
                    : PrimitiveCases.text(source);
            case BYTES -> ByteBuffer.wrap(
                    isLogical(schema) ? unscaled(schema, source).toByteArray() : PrimitiveCases.bytes(source));
            case FIXED -> fixed(schema, source);
            case ENUM -> new GenericData.EnumSymbol(schema, pick(schema.getEnumSymbols(), source));
            case UNION -> random(pick(schema.getTypes(), source), source);
            case ARRAY -> items(schema, source);
            case MAP -> map(schema, source);
            case RECORD -> record(schema, source);
        };
    }

    private static List<Object> items(Schema schema, Random source) {
        List<Object> found = new ArrayList<>();
        for (int i = source.nextInt(MOST_ITEMS + 1); i > 0; i--) {
            found.add(random(schema.getElementType(), source));
        }
        return found;
    }

    private static Map<String, Object> map(Schema schema, Random source) {
        Map<String, Object> found = new LinkedHashMap<>();
        for (int i = source.nextInt(MOST_ITEMS + 1); i > 0; i--) {
            found.put("k" + i + PrimitiveCases.text(source), random(schema.getValueType(), source));
        }
        return found;
    }

    static GenericRecord record(Schema schema, Random source) {
        GenericData.Record found = new GenericData.Record(schema);
        schema.getFields().forEach(field -> found.put(field.pos(), random(field.schema(), source)));
        return found;
    }

    private static GenericFixed fixed(Schema schema, Random source) {
        byte[] data = new byte[schema.getFixedSize()];
        source.nextBytes(data);
        if (isLogical(schema)) {
            BigInteger number = unscaled(schema, source);
            byte[] digits = number.toByteArray();
            java.util.Arrays.fill(data, (byte) (number.signum() < 0 ? -1 : 0));
            System.arraycopy(digits, 0, data, data.length - digits.length, digits.length);
        }
        return new GenericData.Fixed(schema, data);
    }

    private static BigInteger unscaled(Schema schema, Random source) {
        int precision = (int) schema.getObjectProp("precision");
        BigInteger number = new BigInteger(source.nextInt(precision * 3) + 1, source);
        return source.nextBoolean() ? number : number.negate();
    }

    private static long logicalNumber(Schema schema, Random source) {
        return switch (schema.getLogicalType().getName()) {
            case "date" -> PrimitiveCases.date(source).toEpochDay();
            case "time-millis" -> PrimitiveCases.time(source).toNanoOfDay() / 1_000_000;
            case "time-micros" -> PrimitiveCases.time(source).toNanoOfDay() / 1000;
            case "timestamp-millis", "local-timestamp-millis" -> PrimitiveCases.milliseconds(source);
            default -> PrimitiveCases.milliseconds(source) * 1000 + source.nextInt(1000);
        };
    }

    /** A decoded value in neutral form. A union of several types is an object of its members, by branch. */
    static JsonNode neutral(Schema schema, Object value) {
        return switch (schema.getType()) {
            case RECORD -> {
                ObjectNode row = Neutral.JSON.createObjectNode();
                for (Schema.Field field : schema.getFields()) {
                    row.set(field.name(), neutral(field.schema(), ((GenericRecord) value).get(field.pos())));
                }
                yield row;
            }
            case ARRAY -> {
                ArrayNode items = Neutral.JSON.createArrayNode();
                ((List<?>) value).forEach(item -> items.add(neutral(schema.getElementType(), item)));
                yield items;
            }
            case MAP -> {
                ObjectNode pairs = Neutral.JSON.createObjectNode();
                ((Map<?, ?>) value).forEach((k, v) -> pairs.set(k.toString(), neutral(schema.getValueType(), v)));
                yield pairs;
            }
            case UNION -> union(schema, GenericData.get().resolveUnion(schema, value), value);
            case INT, LONG -> Neutral.of(isLogical(schema) ? moment(schema, ((Number) value).longValue()) : value);
            case BYTES -> isLogical(schema) ? decimal(schema, bytes((ByteBuffer) value)) : Neutral.of(value);
            case FIXED -> {
                byte[] data = ((GenericFixed) value).bytes();
                yield isLogical(schema) ? decimal(schema, data) : Neutral.of(data);
            }
            case STRING, ENUM -> Neutral.of(value.toString());
            default -> Neutral.of(value);
        };
    }

    private static JsonNode union(Schema schema, int branch, Object value) {
        List<Schema> types = schema.getTypes().stream().filter(s -> s.getType() != Schema.Type.NULL).toList();
        return union(types, schema.getTypes().get(branch), chosen -> neutral(chosen, value));
    }

    /** `types` are the branches but null, `chosen` the one that the value has. */
    static JsonNode union(List<Schema> types, Schema chosen, java.util.function.Function<Schema, JsonNode> inner) {
        if (chosen.getType() == Schema.Type.NULL) {
            return Neutral.of(null);
        }
        if (types.size() == 1) {
            return inner.apply(chosen);
        }
        ObjectNode members = Neutral.JSON.createObjectNode();
        for (int i = 0; i < types.size(); i++) {
            members.set("member" + i, types.get(i).equals(chosen) ? inner.apply(chosen) : Neutral.of(null));
        }
        return members;
    }

    static JsonNode decimal(Schema schema, byte[] digits) {
        return Neutral.of(new BigDecimal(new BigInteger(digits), (int) schema.getObjectProp("scale")));
    }

    /** The moment that a number stands for under a logical type. */
    static Object moment(Schema schema, long number) {
        return switch (schema.getLogicalType().getName()) {
            case "date" -> LocalDate.ofEpochDay(number);
            case "time-millis" -> LocalTime.ofNanoOfDay(number * 1_000_000);
            case "time-micros" -> LocalTime.ofNanoOfDay(number * 1000);
            case "timestamp-millis" -> Instant.ofEpochMilli(number);
            case "timestamp-micros" -> Instant.EPOCH.plus(number, ChronoUnit.MICROS);
            case "local-timestamp-millis" -> Instant.ofEpochMilli(number).atOffset(ZoneOffset.UTC).toLocalDateTime();
            default -> Instant.EPOCH.plus(number, ChronoUnit.MICROS).atOffset(ZoneOffset.UTC).toLocalDateTime();
        };
    }

    static boolean isLogical(Schema schema) {
        return schema.getLogicalType() != null;
    }

    static byte[] bytes(ByteBuffer buffer) {
        byte[] data = new byte[buffer.remaining()];
        buffer.duplicate().get(data);
        return data;
    }

    private static <T> T pick(List<T> from, Random source) {
        return from.get(source.nextInt(from.size()));
    }

    private static <T> T pick(List<T> rare, T usual, Random source) {
        return source.nextInt(4) == 0 ? pick(rare, source) : usual;
    }

    /** UTF-8 of a document. */
    static byte[] utf8(Schema schema) {
        return schema.toString().getBytes(StandardCharsets.UTF_8);
    }
}
