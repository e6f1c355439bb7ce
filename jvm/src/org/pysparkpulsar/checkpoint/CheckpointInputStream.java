package org.pysparkpulsar.checkpoint;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayDeque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.fs.FSExceptionMessages;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.Path;
import org.pysparkpulsar.process.Answer;

/**
 * A stream over the content that a file had when the stream was opened. The stream supports seek and
 * positioned reads.
 *
 * <p>The answer to `open` contains the bytes of a short file. A longer file is fetched in pieces. During a
 * sequential read, at most {@link #AHEAD} pieces after the current piece are fetched in advance. A positioned
 * read fetches only the requested bytes, and any number of threads may read at the same time.
 */
final class CheckpointInputStream extends FSInputStream {
  private static final int AHEAD = 3;
  /** The threads that wait for answers of the process. All files of the JVM share these threads. */
  private static final ExecutorService FETCHERS =
      Executors.newFixedThreadPool(
          16,
          task -> {
            Thread thread = new Thread(task, "pulsar-checkpoint-read");
            thread.setDaemon(true);
            return thread;
          });

  private final CheckpointStore store;
  private final Path path;
  private final String file;
  private final long length;
  private final ArrayDeque<Future<byte[]>> ahead = new ArrayDeque<>();
  /** The offset of the first piece in `ahead`. This piece follows `piece`, unless `piece` is null. */
  private long aheadFrom;
  private byte[] piece;
  private long pieceFrom;
  private long position;
  private volatile boolean closed;

  CheckpointInputStream(CheckpointStore store, Path path) throws IOException {
    this.store = store;
    this.path = path;
    Answer opened = store.open(path);
    file = opened.result().get("file").asText();
    length = opened.result().get("length").asLong();
    if (opened.body().length == length) {
      piece = opened.body();
    }
  }

  @Override
  public synchronized int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public synchronized int read(byte[] bytes, int offset, int count) throws IOException {
    validatePositionedReadArgs(position, bytes, offset, count);
    checkOpen();
    if (count == 0) {
      return 0;
    }
    if (position >= length) {
      return -1;
    }
    load();
    int from = (int) (position - pieceFrom);
    int taken = Math.min(count, piece.length - from);
    System.arraycopy(piece, from, bytes, offset, taken);
    position += taken;
    return taken;
  }

  @Override
  public int read(long from, byte[] bytes, int offset, int count) throws IOException {
    validatePositionedReadArgs(from, bytes, offset, count);
    checkOpen();
    if (count == 0) {
      return 0;
    }
    if (from >= length) {
      return -1;
    }
    synchronized (this) {
      if (holds(from)) {
        int taken = (int) Math.min(count, pieceFrom + piece.length - from);
        System.arraycopy(piece, (int) (from - pieceFrom), bytes, offset, taken);
        return taken;
      }
    }
    int taken = (int) Math.min(Math.min(count, CheckpointStore.PIECE), length - from);
    System.arraycopy(store.read(path, file, from, taken), 0, bytes, offset, taken);
    return taken;
  }

  @Override
  public synchronized void seek(long to) throws IOException {
    checkOpen();
    if (to < 0) {
      throw new EOFException(FSExceptionMessages.NEGATIVE_SEEK + ": " + to + " in " + path);
    }
    if (to > length) {
      throw new EOFException(FSExceptionMessages.CANNOT_SEEK_PAST_EOF + ": " + to + " of " + length + " in " + path);
    }
    position = to;
  }

  @Override
  public synchronized long getPos() throws IOException {
    checkOpen();
    return position;
  }

  @Override
  public boolean seekToNewSource(long to) {
    return false;
  }

  @Override
  public synchronized int available() throws IOException {
    checkOpen();
    return holds(position) ? (int) (pieceFrom + piece.length - position) : 0;
  }

  @Override
  public synchronized void close() {
    closed = true;
    forget();
    piece = null;
  }

  /** Loads the piece that contains the current position. The position must be before the end of the file. */
  private void load() throws IOException {
    if (holds(position)) {
      return;
    }
    boolean isSequential = piece == null ? position == 0 : position == pieceFrom + piece.length;
    if (!ahead.isEmpty() && position != aheadFrom) {
      forget();
    }
    if (ahead.isEmpty()) {
      aheadFrom = position;
    }
    long next = aheadFrom + (long) ahead.size() * CheckpointStore.PIECE;
    for (int wanted = isSequential ? AHEAD + 1 : 1; ahead.size() < wanted && next < length; next += CheckpointStore.PIECE) {
      long from = next;
      int count = (int) Math.min(CheckpointStore.PIECE, length - from);
      ahead.add(FETCHERS.submit(() -> store.read(path, file, from, count)));
    }
    piece = null;
    byte[] fetched = fetched(ahead.remove());
    piece = fetched;
    pieceFrom = position;
    aheadFrom = position + fetched.length;
  }

  private byte[] fetched(Future<byte[]> fetch) throws IOException {
    try {
      return fetch.get();
    } catch (InterruptedException fault) {
      forget();
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("checkpoint file " + path + ": interrupted during a read");
    } catch (ExecutionException fault) {
      forget();
      if (fault.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw new IOException("checkpoint file " + path + ": reading failed: " + fault.getCause(), fault.getCause());
    }
  }

  private void forget() {
    // The fetches are not interrupted. They have a deadline, and other threads wait for answers over the same
    // pipe.
    ahead.forEach(fetch -> fetch.cancel(false));
    ahead.clear();
  }

  private boolean holds(long at) {
    return piece != null && at >= pieceFrom && at < pieceFrom + piece.length;
  }

  private void checkOpen() throws IOException {
    if (closed) {
      throw new IOException(FSExceptionMessages.STREAM_IS_CLOSED + " " + path);
    }
  }
}
