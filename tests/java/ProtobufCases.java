import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.apache.pulsar.client.api.Schema;

/** PROTOBUF_NATIVE and PROTOBUF topics of the message `Everything`. */
final class ProtobufCases {
    private static final int EDGES = 4;
    private static final int MOST_ITEMS = 3;

    private ProtobufCases() {}

    static List<Case> all() {
        return List.of(
                of("PROTOBUF_NATIVE", Schema.PROTOBUF_NATIVE(Everything.class)),
                of("PROTOBUF", Schema.PROTOBUF(Everything.class)));
    }

    private static Case of(String name, Schema<Everything> schema) {
        Random source = new Random(11);
        List<Everything> edges = new ArrayList<>();
        edges.add(Everything.getDefaultInstance());
        while (edges.size() < EDGES) {
            edges.add(random(source));
        }
        return Case.of(name, schema, edges, ProtobufCases::random, value -> neutral(value.inner));
    }

    static Everything random(Random source) {
        return new Everything(message(Everything.getDescriptor(), source));
    }

    private static DynamicMessage message(Descriptor type, Random source) {
        DynamicMessage.Builder found = DynamicMessage.newBuilder(type);
        for (FieldDescriptor field : type.getFields()) {
            int items = source.nextInt(MOST_ITEMS + 1);
            if (field.isMapField()) {
                // Distinct keys in a fixed order, as no map promises one.
                FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
                for (int i = 0; i < items; i++) {
                    DynamicMessage entry = message(field.getMessageType(), source);
                    Object name = key.getJavaType() == JavaType.STRING ? "k" + i : (Object) (i * 1000 - 1);
                    found.addRepeatedField(field, entry.toBuilder().setField(key, name).build());
                }
            } else if (field.isRepeated()) {
                for (int i = 0; i < items; i++) {
                    found.addRepeatedField(field, value(field, source));
                }
            } else if (items > 0) {
                found.setField(field, value(field, source));
            }
        }
        return found.build();
    }

    private static Object value(FieldDescriptor field, Random source) {
        if (field.getJavaType() == JavaType.MESSAGE && isTimestamp(field)) {
            Instant at = PrimitiveCases.instant(source);
            return com.google.protobuf.Timestamp.newBuilder()
                    .setSeconds(at.getEpochSecond()).setNanos(at.getNano()).build();
        }
        return switch (field.getJavaType()) {
            case INT -> source.nextInt();
            case LONG -> source.nextLong();
            case FLOAT -> (float) source.nextGaussian();
            case DOUBLE -> source.nextGaussian();
            case BOOLEAN -> source.nextBoolean();
            case STRING -> PrimitiveCases.text(source);
            case BYTE_STRING -> ByteString.copyFrom(PrimitiveCases.bytes(source));
            case ENUM -> field.getEnumType().getValues().get(source.nextInt(field.getEnumType().getValues().size()));
            case MESSAGE -> message(field.getMessageType(), source);
        };
    }

    private static boolean isTimestamp(FieldDescriptor field) {
        return field.getMessageType().getFullName().equals("google.protobuf.Timestamp");
    }

    private static JsonNode neutral(Message message) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
            if (field.isMapField()) {
                row.set(field.getName(), map(field, (Collection<?>) message.getField(field)));
            } else if (field.isRepeated()) {
                ArrayNode items = row.putArray(field.getName());
                ((Collection<?>) message.getField(field)).forEach(item -> items.add(neutral(field, item)));
            } else if (field.hasPresence() && !message.hasField(field)) {
                row.putNull(field.getName());
            } else {
                row.set(field.getName(), neutral(field, message.getField(field)));
            }
        }
        return row;
    }

    private static JsonNode map(FieldDescriptor field, Collection<?> entries) {
        FieldDescriptor key = field.getMessageType().findFieldByNumber(1);
        FieldDescriptor value = field.getMessageType().findFieldByNumber(2);
        ObjectNode pairs = Neutral.JSON.createObjectNode();
        entries.forEach(entry -> pairs.set(
                String.valueOf(((Message) entry).getField(key)), neutral(value, ((Message) entry).getField(value))));
        return pairs;
    }

    private static JsonNode neutral(FieldDescriptor field, Object value) {
        if (value instanceof EnumValueDescriptor chosen) {
            return Neutral.of(chosen.getName());
        }
        if (value instanceof ByteString data) {
            return Neutral.of(data.toByteArray());
        }
        if (value instanceof Message message) {
            return wellKnown(message);
        }
        Function<Object, Object> unsigned = switch (field.getType()) {
            case UINT32, FIXED32 -> number -> Integer.toUnsignedLong((Integer) number);
            // Spark's type of it is a decimal.
            case UINT64, FIXED64 -> number -> Long.toUnsignedString((Long) number);
            default -> Function.identity();
        };
        return Neutral.of(unsigned.apply(value));
    }

    private static JsonNode wellKnown(Message message) {
        Descriptor type = message.getDescriptorForType();
        return switch (type.getFullName()) {
            case "google.protobuf.Timestamp" -> Neutral.of(Instant.ofEpochSecond(
                    (Long) message.getField(type.findFieldByNumber(1)),
                    (Integer) message.getField(type.findFieldByNumber(2))));
            case "google.protobuf.StringValue" -> Neutral.of(message.getField(type.findFieldByNumber(1)));
            default -> neutral(message);
        };
    }
}
