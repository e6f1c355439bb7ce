package org.pysparkpulsar.source;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.pysparkpulsar.process.LogLevels;

/** One use of one of Spark's programs in the driver's Python process. For one thread at a time. */
final class ProgramConnection implements AutoCloseable {
  private static final int BUFFER = 1 << 16;
  /** Far above the deadlines of all that the programs do. */
  private static final long DEADLINE_MILLIS = 900_000;
  private static final long CONNECT_MILLIS = 60_000;

  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final DataOutputStream output = new DataOutputStream(new BufferedOutputStream(new Sent(), BUFFER));
  private final DataInputStream input = new DataInputStream(new BufferedInputStream(new Received(), BUFFER));

  private ProgramConnection() throws IOException {
    channel = SocketChannel.open();
    try {
      channel.configureBlocking(false);
      selector = Selector.open();
    } catch (IOException fault) {
      channel.close();
      throw fault;
    }
    key = channel.register(selector, 0);
  }

  /** Throws an IOException where the process cannot be reached. Then the program has not begun. */
  static ProgramConnection open(Door door, String program) throws IOException {
    ProgramConnection connection = new ProgramConnection();
    try {
      connection.introduce(door);
      byte[] name = (program + " " + LogLevels.now()).getBytes(StandardCharsets.US_ASCII);
      connection.output.writeInt(name.length);
      connection.output.write(name);
      return connection;
    } catch (IOException | RuntimeException fault) {
      connection.close();
      throw fault;
    }
  }

  /** Connects, and lets both sides prove that they know what the process has written to its standard output. */
  private void introduce(Door door) throws IOException {
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    if (!channel.connect(door.address)) {
      await(SelectionKey.OP_CONNECT, CONNECT_MILLIS);
      channel.finishConnect();
    }
    output.write(door.asks);
    output.flush();
    ByteBuffer answer = ByteBuffer.allocate(door.answers.length);
    while (answer.hasRemaining()) {
      int count = channel.read(answer);
      if (count < 0) {
        throw new IOException("the connection to " + door.address + " was closed at once");
      }
      if (count == 0) {
        await(SelectionKey.OP_READ, CONNECT_MILLIS);
      }
    }
    if (!MessageDigest.isEqual(answer.array(), door.answers)) {
      throw new IOException("another process listens at " + door.address);
    }
  }

  /** Where the process listens, and the two secrets that begin each connection. */
  record Door(InetSocketAddress address, byte[] asks, byte[] answers) {}

  DataOutputStream output() {
    return output;
  }

  DataInputStream input() {
    return input;
  }

  /** The program sees the end of its input, and ends. */
  @Override
  public void close() throws IOException {
    selector.close();
    channel.close();
  }

  /** An interrupted thread leaves at once: it belongs to a query that is being stopped. */
  private void await(int operation, long millis) throws IOException {
    key.interestOps(operation);
    boolean ready = selector.select(millis) > 0;
    selector.selectedKeys().clear();
    if (Thread.currentThread().isInterrupted()) {
      throw new InterruptedIOException("interrupted while waiting for the driver's Python process");
    }
    if (!ready) {
      throw new IOException("no answer came within " + millis / 1000 + " seconds");
    }
  }

  private final class Sent extends OutputStream {
    @Override
    public void write(int one) throws IOException {
      write(new byte[] {(byte) one}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
      ByteBuffer left = ByteBuffer.wrap(bytes, offset, length);
      while (left.hasRemaining()) {
        if (channel.write(left) == 0) {
          await(SelectionKey.OP_WRITE, DEADLINE_MILLIS);
        }
      }
    }
  }

  private final class Received extends InputStream {
    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      int count = channel.read(ByteBuffer.wrap(bytes, offset, length));
      while (count == 0 && length > 0) {
        await(SelectionKey.OP_READ, DEADLINE_MILLIS);
        count = channel.read(ByteBuffer.wrap(bytes, offset, length));
      }
      return count;
    }
  }
}
