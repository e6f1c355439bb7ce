import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.ConsumerCryptoFailureAction;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.ReaderBuilder;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.apache.pulsar.client.api.transaction.TxnID;
import org.apache.pulsar.client.impl.MessageImpl;

/**
 * The official Java client's encryption, chunks, transactions, delays and compacted reads.
 * Argument: service URL. Standard input: a JSON array of jobs. Standard output: a JSON array of their answers.
 */
public class SpecialMessages {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        Clients.run(PulsarClient.builder().serviceUrl(arguments[0]).enableTransaction(true), client -> {
            for (JsonNode job : JSON.readTree(System.in)) {
                answers.add(job.get("do").asText().equals("read") ? read(client, job) : produce(client, job));
            }
        });
        System.out.println(JSON.writeValueAsString(answers));
    }

    private static ArrayNode produce(PulsarClient client, JsonNode job) throws Exception {
        ProducerBuilder<byte[]> builder = client.newProducer(Schema.BYTES)
                .topic(job.get("topic").asText())
                .sendTimeout(0, TimeUnit.SECONDS)
                .compressionType(CompressionType.valueOf(job.path("compression").asText("NONE")))
                .enableBatching(job.path("batching").asBoolean(false))
                .enableChunking(job.path("chunking").asBoolean(false))
                .blockIfQueueFull(true);
        if (job.has("chunkBytes")) {
            builder.chunkMaxMessageSize(job.get("chunkBytes").asInt());
        }
        if (job.has("publicKeys")) {
            builder.defaultCryptoKeyReader(files(job.get("publicKeys")));
            job.get("publicKeys").fieldNames().forEachRemaining(builder::addEncryptionKey);
        }
        ArrayNode transactions = JSON.createArrayNode();
        try (Producer<byte[]> producer = builder.create()) {
            for (JsonNode step : job.get("steps")) {
                transactions.add(step(client, producer, step));
            }
        }
        return transactions;
    }

    /**
     * With "end" (commit, abort or open), the messages are a transaction's; those in "beside" never are. "seconds" is
     * when the coordinator gives an open one up. Answers with the transaction's id, or null.
     */
    private static ObjectNode step(PulsarClient client, Producer<byte[]> producer, JsonNode step) throws Exception {
        String end = step.path("end").asText();
        Transaction transaction = end.isEmpty()
                ? null
                : client.newTransaction()
                        .withTransactionTimeout(step.path("seconds").asLong(3600), TimeUnit.SECONDS)
                        .build()
                        .get();
        List<CompletableFuture<MessageId>> sent = new ArrayList<>();
        for (JsonNode each : step.get("messages")) {
            sent.add(message(producer, transaction, each).sendAsync());
        }
        for (JsonNode each : step.path("beside")) {
            sent.add(message(producer, null, each).sendAsync());
        }
        producer.flush();
        // What a transaction sends may wait for the coordinator, which the flush does not.
        CompletableFuture.allOf(sent.toArray(new CompletableFuture[0])).get();
        switch (end) {
            case "commit" -> transaction.commit().get();
            case "abort" -> transaction.abort().get();
            default -> { }
        }
        return transaction == null ? null : id(transaction);
    }

    private static ObjectNode id(Transaction transaction) {
        TxnID id = transaction.getTxnID();
        return JSON.createObjectNode().put("most", id.getMostSigBits()).put("least", id.getLeastSigBits());
    }

    private static TypedMessageBuilder<byte[]> message(Producer<byte[]> producer, Transaction transaction, JsonNode each) {
        TypedMessageBuilder<byte[]> message =
                transaction == null ? producer.newMessage() : producer.newMessage(transaction);
        message.value(each.hasNonNull("value") ? Base64.getDecoder().decode(each.get("value").asText()) : null);
        if (each.has("key")) {
            message.key(each.get("key").asText());
        }
        if (each.has("afterSeconds")) {
            message.deliverAfter(each.get("afterSeconds").asLong(), TimeUnit.SECONDS);
        }
        each.path("properties").fields().forEachRemaining(pair -> message.property(pair.getKey(), pair.getValue().asText()));
        return message;
    }

    private static ArrayNode read(PulsarClient client, JsonNode job) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        ReaderBuilder<byte[]> builder = client.newReader(Schema.BYTES)
                .topic(job.get("topic").asText())
                .readCompacted(job.path("compacted").asBoolean(false))
                .cryptoFailureAction(ConsumerCryptoFailureAction.valueOf(job.path("action").asText("FAIL")))
                .startMessageId(MessageId.earliest);
        if (job.has("privateKeys")) {
            builder.defaultCryptoKeyReader(files(job.get("privateKeys")));
        }
        try (Reader<byte[]> reader = builder.create()) {
            while (Clients.hasMessage(reader)) {
                Message<byte[]> message = reader.readNext(60, TimeUnit.SECONDS);
                if (message == null) {
                    throw new IllegalStateException("no message came within 60 s, and there are some");
                }
                found.add(row(message));
            }
        }
        return found;
    }

    private static ObjectNode row(Message<byte[]> message) {
        MessageIdAdv id = (MessageIdAdv) message.getMessageId();
        ObjectNode row = JSON.createObjectNode();
        row.put("ledger", id.getLedgerId()).put("entry", id.getEntryId()).put("batchIndex", id.getBatchIndex());
        boolean isNull = ((MessageImpl<byte[]>) message).getMessageBuilder().isNullValue();
        row.put("value", isNull ? null : Base64.getEncoder().encodeToString(message.getData()));
        row.put("key", message.hasKey() ? message.getKey() : null);
        message.getProperties().forEach(row.putObject("properties")::put);
        message.getEncryptionCtx().ifPresent(context -> {
            ObjectNode shown = row.putObject("encryption");
            shown.put("param", Base64.getEncoder().encodeToString(context.getParam()));
            shown.put("uncompressedSize", context.getUncompressedMessageSize());
            context.getBatchSize().ifPresent(size -> shown.put("batchSize", size));
            ObjectNode keys = shown.putObject("keys");
            context.getKeys().forEach((name, key) -> keys.put(name, Base64.getEncoder().encodeToString(key.getKeyValue())));
        });
        return row;
    }

    private static Map<String, String> files(JsonNode paths) {
        Map<String, String> files = new HashMap<>();
        paths.fields().forEachRemaining(pair -> files.put(pair.getKey(), "file://" + pair.getValue().asText()));
        return files;
    }
}
