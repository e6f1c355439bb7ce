import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;

/** A client for the length of a program. */
public final class Clients {
    private Clients() {}

    /** Work with a client. */
    public interface Work {
        void with(PulsarClient client) throws Exception;
    }

    /** Runs the work, without waiting for the end of the client's threads, which needs two seconds of quiet. */
    public static void run(ClientBuilder builder, Work work) throws Exception {
        PulsarClient client = builder.build();
        try {
            work.with(client);
        } finally {
            client.closeAsync();
        }
    }

    /**
     * Returns whether the reader's topic has another message, and repeats the request if the broker does not
     * answer.
     *
     * <p>A broker that has just loaded a topic can wait 30 s for its transaction buffer, and then closes the topic
     * without an answer. The client sends one request, and waits no longer than that.
     */
    public static boolean hasMessage(Reader<?> reader) throws PulsarClientException {
        try {
            return reader.hasMessageAvailable();
        } catch (PulsarClientException.TimeoutException noAnswer) {
            return reader.hasMessageAvailable();
        }
    }
}
