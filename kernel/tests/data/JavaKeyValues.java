// Writes java_key_values.tsv with the classes of Pulsar 4.0.8. Its KeyValue schemas split messages into key and value.
//
//   java -cp "$PULSAR_HOME/lib/*" JavaKeyValues.java | grep -P "^(schema|entry|pair)\t" > java_key_values.tsv
//
// Columns of the lines:
// - `schema`: case, encoding, registry data in hex, properties as JSON
// - `entry`: case, encoding, batched or single, bytes in hex
// - `pair`: case, encoding, number, key and value as JSON that Java's own schema decodes
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.*;
import java.util.*;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.MessageImpl;
import org.apache.pulsar.client.impl.TypedMessageBuilderImpl;
import org.apache.pulsar.client.impl.schema.*;
import org.apache.pulsar.common.api.proto.*;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.schema.*;
import org.apache.pulsar.common.schema.KeyValue;

public class JavaKeyValues {
  static final ObjectMapper JSON = new ObjectMapper().configure(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS, true);

  public static class Id { public long id; public String region; }
  public static class Order { public String item; public Double amount; public int[] sizes; }

  static Id id(long id, String region) { Id made = new Id(); made.id = id; made.region = region; return made; }
  static Order order(String item, Double amount, int... sizes) {
    Order made = new Order(); made.item = item; made.amount = amount; made.sizes = sizes; return made;
  }

  public static void main(String[] a) throws Exception {
    Id[] ids = {id(7, "eu"), id(-1, null)};
    Order[] orders = {order("tea", 2.5, 1, 2), order(null, null)};
    for (KeyValueEncodingType how : KeyValueEncodingType.values()) {
      make("int32_string", how, Schema.INT32, new Integer[]{7, -1}, Schema.STRING, new String[]{"tea", ""});
      make("string_avro", how, Schema.STRING, new String[]{"Zürich", ""}, Schema.AVRO(Order.class), orders);
      make("avro_avro", how, Schema.AVRO(Id.class), ids, Schema.AVRO(Order.class), orders);
      make("avro_int64", how, Schema.AVRO(Id.class), ids, Schema.INT64, new Long[]{1L, Long.MIN_VALUE});
      make("json_json", how, Schema.JSON(Id.class), ids, Schema.JSON(Order.class), orders);
      make("bytes_bytes", how, Schema.BYTES, new byte[][]{{0, -1}, {}}, Schema.BYTES, new byte[][]{{1}, {}});
    }
  }

  static <K, V> void make(String name, KeyValueEncodingType how, Schema<K> ks, K[] keys, Schema<V> vs, V[] values)
      throws Exception {
    Schema<KeyValue<K, V>> schema = Schema.KeyValue(ks, vs, how);
    SchemaInfo info = schema.getSchemaInfo();
    String head = "\t" + name + "\t" + how + "\t";
    System.out.println("schema" + head + ByteBufUtil.hexDump(info.getSchema()) + "\t" + JSON.writeValueAsString(info.getProperties()));
    List<KeyValue<K, V>> pairs = List.of(new KeyValue<>(keys[0], values[0]), new KeyValue<>(keys[1], values[1]),
        new KeyValue<>(null, values[0]), new KeyValue<>(keys[0], null), new KeyValue<>(null, null));
    ByteBuf batch = Unpooled.buffer();
    for (int i = 0; i < pairs.size(); i++) {
      TypedMessageBuilderImpl<KeyValue<K, V>> message = new TypedMessageBuilderImpl<>(null, schema);
      message.value(pairs.get(i));
      MessageImpl<KeyValue<K, V>> made = (MessageImpl<KeyValue<K, V>>) message.getMessage();
      MessageMetadata md = made.getMessageBuilder().setSequenceId(i).setProducerName("p").setPublishTime(1700000000123L)
          .setSchemaVersion(new byte[8]);
      ByteBuf payload = made.getDataBuffer();
      Commands.serializeSingleMessageInBatchWithPayload(md, payload.duplicate(), batch);
      ByteBuf single = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, new MessageMetadata().copyFrom(md), payload.duplicate());
      System.out.println("entry" + head + "single\t" + ByteBufUtil.hexDump(single));
      System.out.println("pair" + head + i + "\t" + decoded(made.getValue()));
    }
    MessageMetadata md = new MessageMetadata().setSequenceId(0).setProducerName("p").setPublishTime(1700000000123L)
        .setSchemaVersion(new byte[8]).setNumMessagesInBatch(pairs.size()).setUncompressedSize(batch.readableBytes());
    ByteBuf entry = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, md, batch);
    System.out.println("entry" + head + "batched\t" + ByteBufUtil.hexDump(entry));
  }

  static String decoded(KeyValue<?, ?> pair) throws Exception {
    ObjectNode out = JSON.createObjectNode();
    out.set("key", JSON.valueToTree(pair.getKey()));
    out.set("value", JSON.valueToTree(pair.getValue()));
    return JSON.writeValueAsString(out);
  }
}
