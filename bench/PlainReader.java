import java.io.PrintStream;
import java.util.Scanner;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;

/**
 * A process with the official Java client's Reader. The process reads a topic for each line
 * "serviceUrl topic rows receiverQueueSize" on standard input, and answers with its measures in JSON.
 * The process reads each message's data and id.
 */
public final class PlainReader {
    private static long seen;

    private PlainReader() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // Only measures go to standard output.
        Scanner jobs = new Scanner(System.in);
        while (jobs.hasNext()) {
            String serviceUrl = jobs.next();
            String topic = jobs.next();
            long rows = jobs.nextLong();
            int queue = jobs.nextInt();
            long started = System.nanoTime();
            read(serviceUrl, topic, rows, queue);
            double seconds = (System.nanoTime() - started) / 1e9;
            answers.println("{\"rows\": " + rows + ", \"seconds\": " + seconds + "}");
        }
        System.exit(seen == 0 ? 1 : 0);
    }

    private static void read(String serviceUrl, String topic, long rows, int queue) throws Exception {
        try (PulsarClient client = PulsarClient.builder().serviceUrl(serviceUrl).build();
                Reader<byte[]> reader = client.newReader()
                        .topic(topic)
                        .startMessageId(MessageId.earliest)
                        .receiverQueueSize(queue)
                        .create()) {
            for (long row = 0; row < rows; row++) {
                Message<byte[]> message = reader.readNext();
                seen += message.getData().length + message.getMessageId().hashCode();
            }
        }
    }
}
