// Writes java_encrypted.tsv (kind, data key, entry; hexadecimal) with the classes of Pulsar 4.0.8:
//   java -cp "$PULSAR_HOME/lib/*" JavaEncrypted.java | grep ^entry | cut -f2- > java_encrypted.tsv
import io.netty.buffer.*;
import java.nio.ByteBuffer;
import java.security.*;
import java.util.*;
import javax.crypto.Cipher;
import org.apache.pulsar.client.api.CryptoKeyReader;
import org.apache.pulsar.client.api.EncryptionKeyInfo;
import org.apache.pulsar.client.impl.crypto.MessageCryptoBc;
import org.apache.pulsar.common.api.proto.*;
import org.apache.pulsar.common.compression.*;
import org.apache.pulsar.common.protocol.Commands;
public class JavaEncrypted {
  static MessageCryptoBc crypto = new MessageCryptoBc("golden", true);
  static KeyPair pair; static CryptoKeyReader reader;
  static MessageMetadata metadata() {
    return new MessageMetadata().setProducerName("java-producer").setSequenceId(41).setPublishTime(1700000000123L);
  }
  static byte[] value(int i) { return ("value-"+i+"-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".repeat(20)).getBytes(); }
  static void print(String kind, MessageMetadata md, ByteBuf payload) throws Exception {
    ByteBuffer out = ByteBuffer.allocate(crypto.getMaxOutputSize(payload.readableBytes()));
    crypto.encrypt(Set.of("golden-key"), reader, () -> md, payload.nioBuffer(), out);
    Cipher rsa = Cipher.getInstance("RSA/NONE/OAEPWithSHA1AndMGF1Padding", "BC");
    rsa.init(Cipher.DECRYPT_MODE, pair.getPrivate());
    byte[] key = rsa.doFinal(md.getEncryptionKeyAt(0).getValue());
    ByteBuf entry = Commands.serializeMetadataAndPayload(Commands.ChecksumType.Crc32c, md, Unpooled.wrappedBuffer(out));
    System.out.println("entry\t"+kind+"\t"+HexFormat.of().formatHex(key)+"\t"+ByteBufUtil.hexDump(entry));
  }
  public static void main(String[] a) throws Exception {
    KeyPairGenerator g = KeyPairGenerator.getInstance("RSA"); g.initialize(2048); pair = g.generateKeyPair();
    String pem = "-----BEGIN PUBLIC KEY-----\n"+Base64.getMimeEncoder().encodeToString(pair.getPublic().getEncoded())+"\n-----END PUBLIC KEY-----\n";
    reader = new CryptoKeyReader() {
      public EncryptionKeyInfo getPublicKey(String n, Map<String,String> m) { return new EncryptionKeyInfo(pem.getBytes(), Map.of("version", "1")); }
      public EncryptionKeyInfo getPrivateKey(String n, Map<String,String> m) { return null; }
    };
    CompressionCodec lz4 = CompressionCodecProvider.getCompressionCodec(CompressionType.LZ4);
    ByteBuf one = Unpooled.wrappedBuffer(value(0));
    print("single", metadata().setUncompressedSize(one.readableBytes()).setCompression(CompressionType.LZ4), lz4.encode(one));
    ByteBuf raw = Unpooled.buffer();
    for (int i = 0; i < 3; i++)
      Commands.serializeSingleMessageInBatchWithPayload(new SingleMessageMetadata().setPayloadSize(0), Unpooled.wrappedBuffer(value(i)), raw);
    print("batched", metadata().setNumMessagesInBatch(3).setUncompressedSize(raw.readableBytes()).setCompression(CompressionType.LZ4), lz4.encode(raw));
    ByteBuf whole = lz4.encode(Unpooled.wrappedBuffer(value(0)));
    int n = whole.readableBytes(), half = n / 2;
    for (int i = 0; i < 2; i++) {
      ByteBuf piece = whole.slice(i * half, i == 0 ? half : n - half);
      MessageMetadata md = metadata().setUncompressedSize(value(0).length).setCompression(CompressionType.LZ4)
          .setUuid("java-producer-41").setNumChunksFromMsg(2).setTotalChunkMsgSize(n).setChunkId(i);
      print("chunked", md, piece);
    }
  }
}
