package org.pysparkpulsar.process;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A run of a Python process: its pipes, and the calls that wait for an answer.
 *
 * <p>Frames are the same in both directions: two lengths, a header in JSON, and a body of raw bytes. The
 * first length is the header's, and the second is the body's. Each length has 4 bytes, big endian. A call has
 * an `id`, and the answer to the call has the same `id`. The first frame and its answer have no `id`.
 * `pyspark_pulsar.spark.service` documents the protocol.
 */
final class RunningProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  /**
   * The same limit as in `spark/frames.py`. The first four bytes of any text are a larger number than this
   * limit, so text is never mistaken for a frame.
   */
  private static final int MOST_HEADER = 1 << 27;

  private static final int MOST_BODY = 1 << 29;
  /** The deadline of a write in seconds. A running process needs far less time to empty its pipe. */
  private static final long WRITE_SECONDS = 30;

  private static final String UNREAD =
      "it did not read a request within " + WRITE_SECONDS + " seconds, and was ended";
  private static final int SHOWN = 200;
  private static final byte[] NO_BODY = new byte[0];

  private final Process process;
  private final StandardError errors;
  private final DataOutputStream calls;
  private final AtomicLong next = new AtomicLong();
  private final Map<Long, CompletableFuture<Answer>> awaited = new ConcurrentHashMap<>();
  private final CompletableFuture<Answer> ready = new CompletableFuture<>();
  private volatile long lastAnswer = System.nanoTime();
  /** The reason why no more answers arrive; null while answers can arrive. */
  private volatile String ended;

  private RunningProcess(Process process, String module) {
    this.process = process;
    errors = StandardError.of(process, module + "-errors");
    calls = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
    Thread listener = new Thread(this::listen, module);
    listener.setDaemon(true);
    listener.start();
  }

  static RunningProcess start(String python, String module) throws IOException {
    return new RunningProcess(new ProcessBuilder(python, "-m", module).start(), module);
  }

  boolean isAlive() {
    return ended == null && process.isAlive();
  }

  /** Sends the settings. The returned future completes with the answer to the settings. */
  CompletableFuture<Answer> introduce(JsonNode settings) throws Gone {
    send(settings, NO_BODY, 0);
    return ready;
  }

  /**
   * Sends a call with the first `length` bytes of `body`. The returned future fails with {@link Gone} if the
   * process ends before it answers.
   */
  CompletableFuture<Answer> begin(String call, ObjectNode arguments, byte[] body, int length) throws Gone {
    long id = next.incrementAndGet();
    ObjectNode header = JSON.createObjectNode().put("id", id).put("call", call).put("log", LogLevels.now());
    header.set("arguments", arguments);
    CompletableFuture<Answer> answer = new CompletableFuture<>();
    awaited.put(id, answer);
    send(header, body, length);
    if (ended != null) {
      // The listener may have ended before this call was registered. Then the listener would not fail this
      // call.
      answer.completeExceptionally(new Gone(ended, true));
    }
    return answer;
  }

  /** Returns whether the process has sent no answer at all for this many seconds. */
  boolean isSilent(long seconds) {
    return System.nanoTime() - lastAnswer > TimeUnit.SECONDS.toNanos(seconds);
  }

  /**
   * Ends the process. All pending calls fail with `cause`, or with the cause of an earlier call of this
   * method.
   */
  void end(String cause) {
    if (ended == null) {
      ended = cause;
    }
    process.destroyForcibly();
    Gone gone = new Gone(ended, true);
    ready.completeExceptionally(gone);
    awaited.values().forEach(waiting -> waiting.completeExceptionally(gone));
    awaited.clear();
  }

  private void send(JsonNode header, byte[] body, int length) throws Gone {
    byte[] text = bytes(header);
    String cause;
    synchronized (calls) {
      CompletableFuture<Void> written = new CompletableFuture<Void>().orTimeout(WRITE_SECONDS, TimeUnit.SECONDS);
      written.exceptionally(
          late -> {
            // Only ending the process wakes a thread that writes to a full pipe.
            process.destroyForcibly();
            return null;
          });
      try {
        calls.writeInt(text.length);
        calls.writeInt(length);
        calls.write(text);
        calls.write(body, 0, length);
        calls.flush();
        return;
      } catch (IOException fault) {
        boolean isLate = written.isCompletedExceptionally();
        end(isLate ? UNREAD : errors.end());
        // The listener may have recorded a more precise cause, unless the cause is a deadline.
        cause = isLate ? UNREAD : ended;
      } finally {
        written.complete(null);
      }
    }
    // At most half a frame was written, so the process cannot have acted on it.
    throw new Gone(cause, false);
  }

  private void listen() {
    try (DataInputStream answers = new DataInputStream(process.getInputStream())) {
      while (true) {
        int headerLength = answers.readInt();
        int bodyLength = answers.readInt();
        if (headerLength < 0 || headerLength > MOST_HEADER || bodyLength < 0 || bodyLength > MOST_BODY) {
          end(
              "it printed '" + printed(headerLength, bodyLength, answers)
                  + "' instead of an answer; a wrapper or site module may print that");
          return;
        }
        byte[] header = new byte[headerLength];
        byte[] body = new byte[bodyLength];
        answers.readFully(header);
        answers.readFully(body);
        lastAnswer = System.nanoTime();
        JsonNode tree = JSON.readTree(header);
        CompletableFuture<Answer> waiting = tree.has("id") ? awaited.remove(tree.get("id").asLong()) : ready;
        if (waiting != null) {
          waiting.complete(new Answer(tree, body));
        }
      }
    } catch (EOFException fault) {
      end(errors.end());
    } catch (IOException | RuntimeException fault) {
      end(ended == null ? "its answers cannot be read (" + fault + ")" : ended);
    }
  }

  /**
   * Returns the received part of the first line of a text. `first` and `second` are the numbers that the
   * first eight bytes of the text were read as.
   */
  private static String printed(int first, int second, DataInputStream rest) throws IOException {
    byte[] more = rest.readNBytes(Math.min(rest.available(), SHOWN));
    ByteBuffer all = ByteBuffer.allocate(2 * Integer.BYTES + more.length).putInt(first).putInt(second).put(more);
    return new String(all.array(), StandardCharsets.UTF_8).strip().lines().findFirst().orElse("");
  }

  private static byte[] bytes(JsonNode tree) {
    try {
      return JSON.writeValueAsBytes(tree);
    } catch (JsonProcessingException fault) {
      throw new IllegalStateException(fault);
    }
  }

  /** The error of a process that has ended. `sent` is true if the process may have read the call. */
  static final class Gone extends Exception {
    final boolean sent;

    Gone(String message, boolean sent) {
      super(message);
      this.sent = sent;
    }
  }
}
