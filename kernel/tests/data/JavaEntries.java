// Makes java_entries.tsv with the classes of Pulsar 4.0.8 itself:
//   java -cp "$PULSAR_HOME/lib/*" JavaEntries.java | grep ^entry | cut -f2- > java_entries.tsv
// and prints the hashes that tests/route.rs expects.
import io.netty.buffer.*;
import org.apache.pulsar.common.api.proto.*;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.compression.*;
public class JavaEntries {
  static String hex(ByteBuf b){ return ByteBufUtil.hexDump(b); }
  public static void main(String[] a) throws Exception {
    for (String k : new String[]{"", "a", "key-1", "user-42", "Zürich", "😀", "polygenelubricants", "hello world"}) {
      System.out.println("hash\t"+k+"\t"+k.hashCode()+"\t"+((k.hashCode() & Integer.MAX_VALUE) % 7));
    }
    for (CompressionType t : CompressionType.values()) for (boolean batched : new boolean[]{true,false}) {
      MessageMetadata md = new MessageMetadata();
      md.setProducerName("java-producer").setSequenceId(41).setPublishTime(1700000000123L).setSchemaVersion(new byte[]{0,0,0,0,0,0,0,3});
      ByteBuf raw = Unpooled.buffer();
      if (batched) {
        for (int i=0;i<3;i++) {
          byte[] v = ("value-"+i+"-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").getBytes("UTF-8");
          SingleMessageMetadata s = new SingleMessageMetadata().setPartitionKey("key-"+i).setEventTime(1600000000000L+i).setSequenceId(41+i).setPayloadSize(0);
          s.addProperty().setKey("p").setValue("v"+i);
          if (i==1) s.setOrderingKey("ok".getBytes());
          if (i==2) { s.setNullValue(true); v = new byte[0]; }
          Commands.serializeSingleMessageInBatchWithPayload(s, Unpooled.wrappedBuffer(v), raw);
        }
        md.setNumMessagesInBatch(3).setHighestSequenceId(43);
      } else {
        md.setPartitionKey("a2V5").setPartitionKeyB64Encoded(true).setEventTime(1600000000000L);
        md.addProperty().setKey("p").setValue("v");
        raw.writeBytes("value-0-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".getBytes());
      }
      int n = raw.readableBytes();
      ByteBuf c = CompressionCodecProvider.getCompressionCodec(t).encode(raw);
      md.setUncompressedSize(n); if (t != CompressionType.NONE) md.setCompression(t);
      ByteBuf e = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, md, c);
      System.out.println("entry\t"+t+"\t"+(batched?"batched":"single")+"\t"+hex(e));
    }
  }
}
