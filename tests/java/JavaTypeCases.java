import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.Month;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.Calendar;
import java.util.Date;
import java.util.GregorianCalendar;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.SchemaDefinition;

/** JSON topics typed by classes whose fields have the types of `java.time`, `java.util`, `java.math` and `java.sql`. */
final class JavaTypeCases {
    /** As the client's own mapper; for the columns that show the JSON of a value. */
    private static final ObjectMapper JACKSON =
            new ObjectMapper().registerModules(new JavaTimeModule(), new Jdk8Module());

    private JavaTypeCases() {}

    /** A class of each kind of moment, alone and within others. */
    public static class Times {
        public Instant at;
        public LocalDate day;
        public LocalTime clock;
        public LocalDateTime there;
        public ZonedDateTime zoned;
        public OffsetDateTime offset;
        public List<Instant> instants;
        public Map<String, LocalDate> days;
        public Within within;
    }

    /** Nested. */
    public static class Within {
        public Instant at;
        public Date old;
    }

    /** An enum. */
    public enum Colour { RED, GREEN }

    /** Everything else that Jackson writes in a form of its own. */
    public static class Odd {
        public Date date;
        public Calendar calendar;
        public java.sql.Date sqlDate;
        public java.sql.Time sqlTime;
        public java.sql.Timestamp sqlTimestamp;
        public List<Date> dates;
        public BigDecimal amount;
        public BigInteger count;
        public char letter;
        public Character maybe;
        public char[] letters;
        public byte[] data;
        public Byte[] numbers;
        public Optional<String> text;
        public Optional<LocalDate> optionalDay;
        public OptionalInt optionalInt;
        public OptionalLong optionalLong;
        public OptionalDouble optionalDouble;
        public Object any;
        public OffsetTime offsetTime;
        public Duration duration;
        public Period period;
        public Year year;
        public YearMonth yearMonth;
        public MonthDay monthDay;
        public Month month;
        public DayOfWeek weekday;
        public ZoneId zone;
        public ZoneOffset zoneOffset;
        public Locale locale;
        public UUID uuid;
        public URI uri;
        public Set<String> words;
        public Set<Colour> colours;
        public Map<Integer, String> byNumber;
        public Map<Colour, Date> byColour;
        public AtomicBoolean flag;
        public AtomicInteger atomicInt;
        public AtomicLong atomicLong;
    }

    static List<Case> all() {
        SchemaDefinition<Times> inMillis = SchemaDefinition.<Times>builder()
                .withPojo(Times.class).withJSR310ConversionEnabled(true).build();
        List<Times> times = List.of(before1970(), at(Instant.EPOCH), at(Instant.ofEpochSecond(0, 5000)), new Times());
        return List.of(
                Case.of("JSON class of times", Schema.JSON(Times.class), times, JavaTypeCases::times, JavaTypeCases::cells),
                Case.of("JSON class of times in milliseconds", Schema.JSON(inMillis), times, JavaTypeCases::times, JavaTypeCases::cells),
                Case.of("JSON class of java types", Schema.JSON(Odd.class), List.of(bare(), halves(), odd(new Random(4))),
                        JavaTypeCases::odd, JavaTypeCases::cells));
    }

    private static Times at(Instant at) {
        Times found = new Times();
        found.at = at;
        return found;
    }

    private static Times before1970() {
        Times found = times(new Random(3));
        found.at = Instant.ofEpochSecond(-1, 500_000_000);
        found.there = LocalDateTime.of(1, 1, 1, 0, 0);
        found.day = LocalDate.of(1, 1, 1);
        found.clock = LocalTime.MIDNIGHT;
        found.zoned = ZonedDateTime.of(9999, 12, 31, 23, 59, 59, 999_999_999, ZoneOffset.UTC);
        found.offset = OffsetDateTime.of(1, 1, 2, 0, 0, 0, 1000, ZoneOffset.ofHours(14));
        found.within.old = new Date(-62_135_596_800_000L);
        return found;
    }

    private static Times times(Random source) {
        Times found = new Times();
        found.at = instant(source);
        found.day = PrimitiveCases.date(source);
        found.clock = PrimitiveCases.time(source);
        found.there = LocalDateTime.of(PrimitiveCases.date(source), PrimitiveCases.time(source));
        found.zoned = instant(source).atZone(ZoneId.of("Europe/Berlin"));
        found.offset = instant(source).atOffset(ZoneOffset.ofHoursMinutes(-3, -30));
        found.instants = List.of(instant(source), instant(source));
        found.days = new TreeMap<>(Map.of("a", PrimitiveCases.date(source), "b", PrimitiveCases.date(source)));
        found.within = new Within();
        found.within.at = instant(source);
        found.within.old = new Date(PrimitiveCases.milliseconds(source));
        return found;
    }

    private static Instant instant(Random source) {
        return Instant.ofEpochMilli(PrimitiveCases.milliseconds(source)).plusNanos(source.nextInt(1_000_000));
    }

    private static JsonNode cells(Times found) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        row.set("at", Neutral.of(found.at));
        row.set("day", Neutral.of(found.day));
        row.set("clock", Neutral.of(found.clock));
        row.set("there", Neutral.of(found.there));
        row.set("zoned", Neutral.of(found.zoned == null ? null : found.zoned.toInstant()));
        row.set("offset", Neutral.of(found.offset == null ? null : found.offset.toInstant()));
        row.set("instants", found.instants == null ? Neutral.of(null)
                : Neutral.JSON.createArrayNode().addAll(found.instants.stream().map(Neutral::of).toList()));
        row.set("days", mapped(found.days, key -> key));
        row.set("within", found.within == null ? Neutral.of(null) : Neutral.JSON.createObjectNode()
                .<ObjectNode>set("at", Neutral.of(found.within.at)).set("old", millis(found.within.old)));
        return row;
    }

    private static <K> JsonNode mapped(Map<K, ?> map, Function<K, String> key) {
        if (map == null) {
            return Neutral.of(null);
        }
        ObjectNode pairs = Neutral.JSON.createObjectNode();
        map.forEach((name, value) -> pairs.set(
                key.apply(name), value instanceof Date date ? millis(date) : Neutral.of(value)));
        return pairs;
    }

    private static JsonNode millis(Date date) {
        return Neutral.of(date == null ? null : Instant.ofEpochMilli(date.getTime()));
    }

    private static Odd bare() {
        Odd found = new Odd();
        found.text = Optional.empty();
        found.optionalDay = Optional.empty();
        found.optionalInt = OptionalInt.empty();
        found.optionalLong = OptionalLong.empty();
        found.optionalDouble = OptionalDouble.empty();
        return found;
    }

    /** Half of a character, and numbers in the forms that `BigDecimal` chooses. */
    private static Odd halves() {
        Odd found = odd(new Random(5));
        found.letter = '\ud83d';
        found.maybe = '"';
        found.amount = new BigDecimal("1E+3");
        found.count = new BigInteger("-123456789012345678901234567890123456789012345678901234567890");
        found.duration = Duration.ofNanos(5);
        found.date = new Date(-1);
        found.calendar = new GregorianCalendar(TimeZone.getTimeZone("UTC"));
        found.calendar.setTimeInMillis(-62_135_596_800_000L);
        return found;
    }

    private static Odd odd(Random source) {
        Odd found = new Odd();
        found.date = new Date(PrimitiveCases.milliseconds(source));
        found.calendar = new GregorianCalendar(TimeZone.getTimeZone("Europe/Berlin"));
        found.calendar.setTimeInMillis(PrimitiveCases.milliseconds(source));
        found.sqlDate = new java.sql.Date(PrimitiveCases.milliseconds(source));
        found.sqlTime = new java.sql.Time(source.nextInt(86_400) * 1000L);
        found.sqlTimestamp = new java.sql.Timestamp(PrimitiveCases.milliseconds(source));
        found.dates = List.of(new Date(0), new Date(PrimitiveCases.milliseconds(source)));
        found.amount = new BigDecimal(new BigInteger(100, source), source.nextInt(40) - 5);
        found.count = new BigInteger(source.nextInt(300), source).negate();
        found.letter = (char) source.nextInt(0x10000);
        found.maybe = source.nextBoolean() ? null : (char) source.nextInt(0x100);
        found.letters = PrimitiveCases.text(source).toCharArray();
        found.data = PrimitiveCases.bytes(source);
        found.numbers = new Byte[] {(byte) source.nextInt(), 0};
        found.text = source.nextBoolean() ? Optional.empty() : Optional.of(PrimitiveCases.text(source));
        found.optionalDay = Optional.of(PrimitiveCases.date(source));
        found.optionalInt = source.nextBoolean() ? OptionalInt.empty() : OptionalInt.of(source.nextInt());
        found.optionalLong = OptionalLong.of(source.nextLong());
        found.optionalDouble = OptionalDouble.of(source.nextGaussian());
        found.any = List.of(PrimitiveCases.text(source), source.nextInt(), Map.of("a", source.nextBoolean()));
        found.offsetTime = OffsetTime.of(PrimitiveCases.time(source), ZoneOffset.ofHours(2));
        found.duration = Duration.ofSeconds(source.nextInt(1_000_000), source.nextInt(1_000_000_000));
        found.period = Period.of(source.nextInt(10), source.nextInt(10), -source.nextInt(10));
        found.year = Year.of(source.nextInt(3000) - 100);
        found.yearMonth = YearMonth.of(source.nextInt(3000), 1 + source.nextInt(12));
        found.monthDay = MonthDay.of(1 + source.nextInt(12), 1 + source.nextInt(28));
        found.month = Month.of(1 + source.nextInt(12));
        found.weekday = DayOfWeek.of(1 + source.nextInt(7));
        found.zone = ZoneId.of("Europe/Berlin");
        found.zoneOffset = ZoneOffset.ofHoursMinutes(5, 30);
        found.locale = Locale.GERMANY;
        found.uuid = new UUID(source.nextLong(), source.nextLong());
        found.uri = URI.create("pulsar://host:6650/?n=" + source.nextInt());
        found.words = new TreeSet<>(Set.of("a", "b" + source.nextInt()));
        found.colours = new TreeSet<>(Set.of(Colour.GREEN));
        found.byNumber = new TreeMap<>(Map.of(source.nextInt(), PrimitiveCases.text(source), 5, "five"));
        found.byColour = new TreeMap<>(Map.of(Colour.RED, new Date(PrimitiveCases.milliseconds(source))));
        found.flag = new AtomicBoolean(source.nextBoolean());
        found.atomicInt = new AtomicInteger(source.nextInt());
        found.atomicLong = new AtomicLong(source.nextLong());
        return found;
    }

    private static JsonNode cells(Odd found) {
        ObjectNode row = Neutral.JSON.createObjectNode();
        row.set("date", millis(found.date));
        row.set("calendar", millis(found.calendar == null ? null : found.calendar.getTime()));
        row.set("sqlDate", millis(found.sqlDate));
        row.set("sqlTime", text(found.sqlTime));
        row.set("sqlTimestamp", millis(found.sqlTimestamp));
        row.set("dates", found.dates == null ? Neutral.of(null)
                : Neutral.JSON.createArrayNode().addAll(found.dates.stream().map(JavaTypeCases::millis).toList()));
        row.set("amount", text(found.amount));
        row.set("count", text(found.count));
        row.put("letter", (int) found.letter);
        row.put("maybe", found.maybe == null ? null : (Integer) (int) found.maybe);
        row.put("letters", found.letters == null ? null : new String(found.letters));
        row.set("data", Neutral.of(found.data));
        row.set("numbers", Neutral.JSON.valueToTree(found.numbers));
        row.set("text", json(found.text.orElse(null)));
        row.set("optionalDay", json(found.optionalDay.orElse(null)));
        row.put("optionalInt", found.optionalInt.isEmpty() ? null : (Integer) found.optionalInt.getAsInt());
        row.put("optionalLong", found.optionalLong.isEmpty() ? null : (Long) found.optionalLong.getAsLong());
        row.set("optionalDouble", Neutral.of(
                found.optionalDouble.isEmpty() ? null : (Double) found.optionalDouble.getAsDouble()));
        row.set("any", json(found.any));
        row.set("offsetTime", json(found.offsetTime));
        row.set("duration", json(found.duration));
        row.set("period", text(found.period));
        row.put("year", found.year == null ? null : (Integer) found.year.getValue());
        row.set("yearMonth", found.yearMonth == null ? Neutral.of(null) : Neutral.JSON.createArrayNode()
                .add(found.yearMonth.getYear()).add(found.yearMonth.getMonthValue()));
        row.set("monthDay", text(found.monthDay));
        row.set("month", text(found.month));
        row.set("weekday", text(found.weekday));
        row.set("zone", text(found.zone));
        row.set("zoneOffset", text(found.zoneOffset));
        row.set("locale", text(found.locale));
        row.set("uuid", text(found.uuid));
        row.set("uri", text(found.uri));
        row.set("words", Neutral.JSON.valueToTree(found.words == null ? null : new TreeSet<>(found.words)));
        row.set("colours", Neutral.JSON.valueToTree(found.colours == null ? null
                : found.colours.stream().map(Colour::name).collect(Collectors.toCollection(TreeSet::new))));
        row.set("byNumber", mapped(found.byNumber, String::valueOf));
        row.set("byColour", mapped(found.byColour, Colour::name));
        row.put("flag", found.flag == null ? null : (Boolean) found.flag.get());
        row.put("atomicInt", found.atomicInt == null ? null : (Integer) found.atomicInt.get());
        row.put("atomicLong", found.atomicLong == null ? null : (Long) found.atomicLong.get());
        return row;
    }

    private static JsonNode text(Object value) {
        return value == null ? Neutral.of(null) : Neutral.JSON.getNodeFactory().textNode(value.toString());
    }

    private static JsonNode json(Object value) {
        try {
            return value == null ? Neutral.of(null) : text(JACKSON.writeValueAsString(value));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
    }
}
