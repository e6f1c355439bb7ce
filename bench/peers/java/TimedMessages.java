import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;

/**
 * Messages whose values begin with the time of sending, in milliseconds since 1970 as 8 bytes.
 *
 * <p>"produce SERVICE_URL TOPIC MESSAGES_PER_SECOND" sends until it is ended, batched as the client does by default.
 * "consume SERVICE_URL TOPIC SECONDS" prints in JSON how long messages took to a consumer, which is what broker and client
 * take by themselves.
 */
public final class TimedMessages {
  private static final int PAYLOAD = 100;

  private TimedMessages() {}

  public static void main(String[] arguments) throws Exception {
    try (PulsarClient client = PulsarClient.builder().serviceUrl(arguments[1]).build()) {
      if (arguments[0].equals("produce")) {
        produce(client, arguments[2], Long.parseLong(arguments[3]));
      } else {
        consume(client, arguments[2], Double.parseDouble(arguments[3]));
      }
    }
  }

  private static void produce(PulsarClient client, String topic, long perSecond) throws Exception {
    try (Producer<byte[]> producer =
        client.newProducer().topic(topic).compressionType(CompressionType.LZ4).blockIfQueueFull(true).create()) {
      byte[] payload = new byte[Long.BYTES + PAYLOAD];
      new Random(1).nextBytes(payload);
      long begin = System.nanoTime();
      for (long sent = 0; ; ) {
        long due = (System.nanoTime() - begin) * perSecond / TimeUnit.SECONDS.toNanos(1);
        for (; sent < due; sent++) {
          byte[] value = payload.clone();
          ByteBuffer.wrap(value).putLong(System.currentTimeMillis());
          producer.sendAsync(value);
        }
        Thread.sleep(1);
      }
    }
  }

  private static void consume(PulsarClient client, String topic, double seconds) throws Exception {
    try (Consumer<byte[]> consumer =
        client.newConsumer().topic(topic).subscriptionName("plain-" + System.nanoTime())
            .subscriptionInitialPosition(SubscriptionInitialPosition.Latest).subscribe()) {
      long[] taken = new long[1 << 16];
      int count = 0;
      // What the first second takes, the JVM's compiler takes.
      long begin = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
      long end = begin + (long) (seconds * TimeUnit.SECONDS.toNanos(1));
      while (System.nanoTime() < end) {
        Message<byte[]> message = consumer.receive(1, TimeUnit.SECONDS);
        if (message == null) {
          continue;
        }
        consumer.acknowledgeAsync(message);
        if (System.nanoTime() >= begin) {
          taken = count < taken.length ? taken : Arrays.copyOf(taken, 2 * taken.length);
          taken[count++] = System.currentTimeMillis() - ByteBuffer.wrap(message.getData()).getLong();
        }
      }
      consumer.unsubscribe();
      Arrays.sort(taken, 0, count);
      System.out.println(
          "{\"rows\": " + count + ", \"p50_ms\": " + taken[count / 2] + ", \"p99_ms\": " + taken[count * 99 / 100] + "}");
    }
  }
}
