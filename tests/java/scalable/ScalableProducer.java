import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.Transaction;
import org.apache.pulsar.client.api.v5.config.TransactionPolicy;
import org.apache.pulsar.client.api.v5.schema.Schema;

/**
 * Writes texts into a scalable topic as the client of Pulsar 5 does.
 *
 * <p>Arguments: service URL, topic. Each line of standard input is a command, answered with a line of standard output:
 * {@code send KEY VALUE}, {@code begin}, {@code txn KEY VALUE}, {@code commit}, {@code abort}.
 */
public final class ScalableProducer {
  private ScalableProducer() {}

  /** Ends with standard input. */
  public static void main(String[] arguments) throws Exception {
    TransactionPolicy transactions =
        TransactionPolicy.builder().timeout(Duration.ofMinutes(5)).build();
    try (PulsarClient client =
            PulsarClient.builder().serviceUrl(arguments[0]).transactionPolicy(transactions).build();
        Producer<String> producer =
            client.newProducer(Schema.string()).topic(arguments[1]).create()) {
      BufferedReader commands =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      Transaction transaction = null;
      answer("ready");
      for (String line = commands.readLine(); line != null; line = commands.readLine()) {
        String[] words = line.split(" ", 3);
        switch (words[0]) {
          case "send" -> producer.newMessage().key(words[1]).value(words[2]).send();
          case "txn" ->
              producer.newMessage().transaction(transaction).key(words[1]).value(words[2]).send();
          case "begin" -> transaction = client.newTransaction();
          case "commit" -> transaction.commit();
          case "abort" -> transaction.abort();
          default -> throw new IllegalArgumentException(line);
        }
        answer("done");
      }
    }
  }

  private static void answer(String text) {
    System.out.println("> " + text);
    System.out.flush();
  }
}
