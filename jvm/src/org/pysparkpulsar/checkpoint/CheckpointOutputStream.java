package org.pysparkpulsar.checkpoint;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.Syncable;

/**
 * A stream that writes a new file. {@link #close} makes the complete file visible in one step, or fails.
 * {@link #abort} removes all bytes that were written.
 *
 * <p>The stream buffers one piece. A file of at most one piece is written with one call. A longer file is
 * written with one call for each piece.
 */
final class CheckpointOutputStream extends OutputStream implements Syncable {
  private static final int FIRST = 8192;
  private static final long NONE = -1;

  private final CheckpointStore store;
  private final Path path;
  private final boolean overwrite;
  private byte[] piece = new byte[FIRST];
  private int filled;
  private long upload = NONE;
  private boolean closed;

  CheckpointOutputStream(CheckpointStore store, Path path, boolean overwrite) {
    this.store = store;
    this.path = path;
    this.overwrite = overwrite;
  }

  @Override
  public void write(int value) throws IOException {
    write(new byte[] {(byte) value}, 0, 1);
  }

  @Override
  public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
    if (closed) {
      throw new IOException("checkpoint file " + path + ": expected an open file, got a write to a closed file");
    }
    int from = offset;
    int left = length;
    while (left > 0) {
      if (filled == CheckpointStore.PIECE) {
        send();
      }
      int taken = Math.min(left, CheckpointStore.PIECE - filled);
      grow(filled + taken);
      System.arraycopy(bytes, from, piece, filled, taken);
      filled += taken;
      from += taken;
      left -= taken;
    }
  }

  @Override
  public synchronized void close() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    if (upload == NONE) {
      store.put(path, overwrite, piece, filled);
    } else {
      try {
        send();
      } catch (IOException fault) {
        abortUpload(fault);
        throw fault;
      }
      store.commitUpload(path, upload);
    }
    piece = null;
  }

  synchronized void abort() throws IOException {
    if (closed) {
      return;
    }
    closed = true;
    piece = null;
    if (upload != NONE) {
      store.abortUpload(path, upload);
    }
  }

  @Override
  public void hflush() {
    throw refused("hflush");
  }

  @Override
  public void hsync() {
    throw refused("hsync");
  }

  private void send() throws IOException {
    if (upload == NONE) {
      upload = store.beginUpload(path, overwrite);
    }
    store.upload(path, upload, piece, filled);
    filled = 0;
  }

  private void abortUpload(IOException cause) {
    try {
      store.abortUpload(path, upload);
    } catch (IOException fault) {
      cause.addSuppressed(fault);
    }
  }

  private void grow(int needed) {
    if (needed > piece.length) {
      int size = Math.min(CheckpointStore.PIECE, Math.max(needed, 2 * piece.length));
      piece = java.util.Arrays.copyOf(piece, size);
    }
  }

  private UnsupportedOperationException refused(String call) {
    return new UnsupportedOperationException(
        "checkpoint file " + path + ": expected no " + call + ", because a file exists only after it is closed; close "
            + "the file instead");
  }
}
