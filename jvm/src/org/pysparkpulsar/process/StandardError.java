package org.pysparkpulsar.process;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * The standard error of a child process, copied to the standard error of this JVM. The last bytes are stored
 * for error messages.
 */
final class StandardError {
  private static final int KEPT_BYTES = 4096;
  private static final int SHOWN_LINES = 3;
  private static final int SHOWN_LETTERS = 600;
  private static final long END_SECONDS = 5;

  private final Process process;
  private final Thread thread;
  private byte[] last = new byte[0];

  private StandardError(Process process, String name) {
    this.process = process;
    thread = new Thread(this::copy, name);
    thread.setDaemon(true);
  }

  static StandardError of(Process process, String name) {
    StandardError copied = new StandardError(process, name);
    copied.thread.start();
    return copied;
  }

  /**
   * Returns a text with the exit code and the last lines of the process, such as "it ended with exit code 1
   * and wrote: ...".
   */
  String end() {
    try {
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        return "it closed its connections and still runs";
      }
      // A grandchild may keep the pipe open, so the wait has a deadline.
      thread.join(TimeUnit.SECONDS.toMillis(END_SECONDS));
    } catch (InterruptedException fault) {
      Thread.currentThread().interrupt();
    }
    String lines = lastLines();
    return "it ended with exit code " + (process.isAlive() ? "unknown" : process.exitValue())
        + (lines.isEmpty() ? ", and wrote nothing to standard error" : ", and wrote: " + lines);
  }

  private synchronized String lastLines() {
    String[] lines = new String(last, StandardCharsets.UTF_8).strip().split("\\R");
    String shown = String.join(" | ", Arrays.copyOfRange(lines, Math.max(0, lines.length - SHOWN_LINES), lines.length));
    return shown.substring(Math.max(0, shown.length() - SHOWN_LETTERS));
  }

  private void copy() {
    byte[] piece = new byte[KEPT_BYTES];
    try (InputStream written = process.getErrorStream()) {
      for (int count = written.read(piece); count >= 0; count = written.read(piece)) {
        keep(piece, count);
        System.err.write(piece, 0, count);
        System.err.flush();
      }
    } catch (IOException fault) {
      // The process was ended, and its pipe with it.
    }
  }

  private synchronized void keep(byte[] piece, int count) {
    byte[] all = Arrays.copyOf(last, last.length + count);
    System.arraycopy(piece, 0, all, last.length, count);
    last = Arrays.copyOfRange(all, Math.max(0, all.length - KEPT_BYTES), all.length);
  }
}
