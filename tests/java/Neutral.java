import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.Date;

/**
 * Values as JSON that any language can compare: whole numbers as numbers, floating point as a number or as "NaN",
 * "Infinity", "-Infinity", bytes as base64, decimals as plain text, times as ISO 8601 with six digits below the
 * second (further ones cut), instants with a Z.
 */
final class Neutral {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonNodeFactory NODES = JsonNodeFactory.withExactBigDecimals(true);
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("uuuu-MM-dd");
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS");
    private static final DateTimeFormatter DATE_TIME = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSSSS");

    private Neutral() {}

    /** Any value that a primitive schema decodes to. */
    static JsonNode of(Object value) {
        if (value == null) {
            return NODES.nullNode();
        }
        if (value instanceof byte[] data) {
            return NODES.textNode(Base64.getEncoder().encodeToString(data));
        }
        if (value instanceof ByteBuffer buffer) {
            byte[] data = new byte[buffer.remaining()];
            buffer.duplicate().get(data);
            return of(data);
        }
        if (value instanceof Boolean flag) {
            return NODES.booleanNode(flag);
        }
        if (value instanceof Float || value instanceof Double) {
            return floating(((Number) value).doubleValue());
        }
        if (value instanceof Number number && !(value instanceof BigDecimal)) {
            return NODES.numberNode(number.longValue());
        }
        return NODES.textNode(text(value));
    }

    private static JsonNode floating(double value) {
        return Double.isFinite(value) ? NODES.numberNode(value) : NODES.textNode(Double.toString(value));
    }

    private static String text(Object value) {
        if (value instanceof BigDecimal decimal) {
            return decimal.toPlainString();
        }
        if (value instanceof java.sql.Time time) {
            return TIME.format(instant(time.getTime()).toLocalTime());
        }
        if (value instanceof java.sql.Timestamp timestamp) {
            return DATE_TIME.format(LocalDateTime.ofInstant(timestamp.toInstant(), ZoneOffset.UTC)) + "Z";
        }
        if (value instanceof Date date) {
            return DATE.format(instant(date.getTime()));
        }
        if (value instanceof Instant at) {
            return DATE_TIME.format(LocalDateTime.ofInstant(at, ZoneOffset.UTC)) + "Z";
        }
        if (value instanceof LocalDateTime at) {
            return DATE_TIME.format(at);
        }
        if (value instanceof LocalDate date) {
            return DATE.format(date);
        }
        return value instanceof LocalTime time ? TIME.format(time) : value.toString();
    }

    private static LocalDateTime instant(long milliseconds) {
        return LocalDateTime.ofInstant(Instant.ofEpochMilli(milliseconds), ZoneOffset.UTC);
    }

    /** One column. */
    static ObjectNode column(String name, JsonNode value) {
        ObjectNode row = JSON.createObjectNode();
        row.set(name, value);
        return row;
    }
}
