import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.avro.reflect.AvroDefault;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;

/** AVRO and JSON topics as most Java programs type them: by a plain class, whose document the client derives. */
final class PojoCases {
    private PojoCases() {}

    /** What a shop may send. */
    public static class Order {
        public long id;
        public Integer units;
        public String customer;
        public boolean paid;
        public double weight;
        public byte[] signature;
        public Colour colour;
        public Place place;
        public List<String> tags;
        public Map<String, Long> counts;
        @AvroDefault("7")
        public int priority;
    }

    /** Nested. */
    public static class Place {
        public String city;
        public int number;
    }

    /** An enum. */
    public enum Colour { RED, GREEN }

    /** Logical types, with the client's JSR 310 conversion. */
    public static class Moments {
        @org.apache.avro.reflect.AvroSchema("{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":12,\"scale\":2}")
        public BigDecimal amount;
        public Instant at;
        public LocalDate day;
        public LocalTime clock;
    }

    static List<Case> all() {
        Schema<Order> avro = Schema.AVRO(Order.class);
        Schema<Order> json = Schema.JSON(Order.class);
        SchemaDefinition<Moments> definition = SchemaDefinition.<Moments>builder()
                .withPojo(Moments.class).withJSR310ConversionEnabled(true).build();
        Schema<Moments> moments = Schema.AVRO(definition);
        return List.of(
                Case.of("AVRO class", avro, orders(), PojoCases::order, PojoCases::cells),
                Case.of("JSON class", json, orders(), PojoCases::order, PojoCases::cells),
                Case.of("AVRO class of moments", moments, List.of(moments(new Random(3))), PojoCases::moments, PojoCases::cells));
    }

    private static List<Order> orders() {
        return List.of(order(new Random(1)), order(new Random(2)), bare());
    }

    private static Order bare() {
        Order order = new Order();
        order.id = Long.MIN_VALUE;
        return order;
    }

    private static Order order(Random source) {
        Order order = new Order();
        order.id = source.nextLong();
        order.units = source.nextBoolean() ? source.nextInt() : null;
        order.customer = PrimitiveCases.text(source);
        order.paid = source.nextBoolean();
        order.weight = source.nextGaussian();
        order.signature = PrimitiveCases.bytes(source);
        order.colour = source.nextBoolean() ? Colour.GREEN : Colour.RED;
        order.place = new Place();
        order.place.city = PrimitiveCases.text(source);
        order.place.number = source.nextInt();
        order.tags = List.of(PrimitiveCases.text(source), PrimitiveCases.text(source));
        order.counts = new TreeMap<>(Map.of("a", source.nextLong(), "b", source.nextLong()));
        order.priority = source.nextInt();
        return order;
    }

    private static JsonNode cells(Order order) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        row.put("id", order.id).put("units", order.units).put("customer", order.customer).put("paid", order.paid);
        row.set("weight", Neutral.of(order.weight));
        row.set("signature", Neutral.of(order.signature));
        row.put("colour", order.colour == null ? null : order.colour.name());
        row.set("place", order.place == null ? Neutral.of(null) : Neutral.JSON.createObjectNode()
                .put("city", order.place.city).put("number", order.place.number));
        row.set("tags", Neutral.JSON.valueToTree(order.tags));
        row.set("counts", Neutral.JSON.valueToTree(order.counts));
        row.put("priority", order.priority);
        return row;
    }

    private static Moments moments(Random source) {
        Moments found = new Moments();
        found.amount = BigDecimal.valueOf(source.nextInt(), 2);
        found.at = Instant.ofEpochMilli(PrimitiveCases.milliseconds(source));
        found.day = PrimitiveCases.date(source);
        found.clock = LocalTime.ofNanoOfDay(PrimitiveCases.time(source).toNanoOfDay() / 1_000_000 * 1_000_000);
        return found;
    }

    private static JsonNode cells(Moments found) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        row.set("amount", Neutral.of(found.amount));
        row.set("at", Neutral.of(found.at));
        row.set("day", Neutral.of(found.day));
        row.set("clock", Neutral.of(found.clock));
        return row;
    }
}
