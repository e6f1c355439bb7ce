import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;

/** A client for the length of a program. */
public final class Clients {
    private Clients() {}

    /** What is done with a client. */
    public interface Work {
        void with(PulsarClient client) throws Exception;
    }

    /** Does not wait for the client's threads to end, which takes two seconds of quiet. */
    public static void run(ClientBuilder builder, Work work) throws Exception {
        PulsarClient client = builder.build();
        try {
            work.with(client);
        } finally {
            client.closeAsync();
        }
    }

    /**
     * Says whether the reader's topic has another message; asks a second time when the broker does not answer.
     * A broker that has just loaded a topic can wait 30 s for its transaction buffer, and then closes the topic
     * without an answer. The client asks once, and waits no longer than that.
     */
    public static boolean hasMessage(Reader<?> reader) throws PulsarClientException {
        try {
            return reader.hasMessageAvailable();
        } catch (PulsarClientException.TimeoutException noAnswer) {
            return reader.hasMessageAvailable();
        }
    }
}
