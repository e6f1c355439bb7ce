import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import org.apache.pulsar.client.api.Schema;

/** Every primitive schema: a line per type. */
final class PrimitiveCases {
    private static final long DAY = 86_400_000L;
    private static final long FIRST_DAY = LocalDate.of(1, 1, 1).toEpochDay();
    private static final long LAST_DAY = LocalDate.of(9999, 12, 31).toEpochDay();
    private static final LocalDate FIRST = LocalDate.ofEpochDay(FIRST_DAY);
    private static final LocalDate LAST = LocalDate.ofEpochDay(LAST_DAY);
    private static final LocalTime LATEST = LocalTime.of(23, 59, 59, 999_999_999);

    private PrimitiveCases() {}

    static List<Case> all() {
        return List.of(
                value("BYTES", Schema.BYTES, List.of(new byte[0], new byte[] {0, -1, 127}), PrimitiveCases::bytes),
                value("STRING", Schema.STRING, List.of("", "Zürich 東京 \uD83E\uDD80", "\0\n\""), PrimitiveCases::text),
                value("BOOLEAN", Schema.BOOL, List.of(true, false), Random::nextBoolean),
                value("INT8", Schema.INT8, List.of(Byte.MIN_VALUE, Byte.MAX_VALUE), r -> (byte) r.nextInt()),
                value("INT16", Schema.INT16, List.of(Short.MIN_VALUE, Short.MAX_VALUE), r -> (short) r.nextInt()),
                value("INT32", Schema.INT32, List.of(Integer.MIN_VALUE, Integer.MAX_VALUE, 0), Random::nextInt),
                value("INT64", Schema.INT64, List.of(Long.MIN_VALUE, Long.MAX_VALUE, 0L), Random::nextLong),
                value("FLOAT", Schema.FLOAT, floats(), r -> (float) r.nextGaussian()),
                value("DOUBLE", Schema.DOUBLE, doubles(), Random::nextGaussian),
                value("DATE", Schema.DATE, dates(), r -> new Date(milliseconds(r))),
                value("TIME", Schema.TIME, List.of(new Time(0), new Time(DAY - 1)), r -> new Time(r.nextInt((int) DAY))),
                value("TIMESTAMP", Schema.TIMESTAMP, timestamps(), r -> new Timestamp(milliseconds(r))),
                value("INSTANT", Schema.INSTANT, instants(), PrimitiveCases::instant),
                value("LOCAL_DATE", Schema.LOCAL_DATE, List.of(FIRST, LAST, LocalDate.EPOCH), PrimitiveCases::date),
                value("LOCAL_TIME", Schema.LOCAL_TIME, List.of(LocalTime.MIN, LATEST), PrimitiveCases::time),
                value("LOCAL_DATE_TIME", Schema.LOCAL_DATE_TIME, dateTimes(), r -> date(r).atTime(time(r))));
    }

    private static <T> Case value(String name, Schema<T> schema, List<T> edges, Function<Random, T> random) {
        return Case.of(name, schema, edges, random, value -> Neutral.column("value", Neutral.of(value)));
    }

    static byte[] bytes(Random source) {
        byte[] data = new byte[source.nextInt(20)];
        source.nextBytes(data);
        return data;
    }

    static String text(Random source) {
        int[] letters = source.ints(source.nextInt(12), 0, 0x3000).map(c -> c % 3 == 0 ? c : 'a' + c % 26).toArray();
        return new String(letters, 0, letters.length);
    }

    static List<Float> floats() {
        return List.of(0f, -0f, Float.MIN_VALUE, Float.MAX_VALUE, Float.NaN, Float.NEGATIVE_INFINITY);
    }

    static List<Double> doubles() {
        return List.of(0d, -0d, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN, Double.POSITIVE_INFINITY);
    }

    private static List<Date> dates() {
        return List.of(new Date(0), new Date(-1), new Date(FIRST_DAY * DAY), new Date(LAST_DAY * DAY + DAY - 1));
    }

    private static List<Timestamp> timestamps() {
        return List.of(new Timestamp(0), new Timestamp(-1), new Timestamp(1_700_000_000_123L));
    }

    private static List<Instant> instants() {
        Instant last = Instant.parse("9999-12-31T23:59:59.999999999Z");
        return List.of(Instant.EPOCH, Instant.EPOCH.minusNanos(1), Instant.parse("0001-01-01T00:00:00Z"), last);
    }

    private static List<LocalDateTime> dateTimes() {
        return List.of(FIRST.atStartOfDay(), LAST.atTime(LATEST), LocalDate.EPOCH.atTime(0, 0, 0, 1000));
    }

    static long milliseconds(Random source) {
        return (long) (source.nextDouble() * 4e12) - 2_000_000_000_000L;
    }

    static Instant instant(Random source) {
        return Instant.ofEpochMilli(milliseconds(source)).plusNanos(source.nextInt(1_000_000));
    }

    static LocalDate date(Random source) {
        return LocalDate.ofEpochDay(FIRST_DAY + (long) (source.nextDouble() * (LAST_DAY - FIRST_DAY)));
    }

    static LocalTime time(Random source) {
        return LocalTime.ofNanoOfDay((long) (source.nextDouble() * DAY) * 1_000_000L + source.nextInt(1_000_000));
    }
}
