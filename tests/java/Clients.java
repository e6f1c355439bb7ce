import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.PulsarClient;

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
}
