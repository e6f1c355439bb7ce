package org.pysparkpulsar.checkpoint;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.pysparkpulsar.source.BoundedWrite;
import org.pysparkpulsar.source.LogLevels;

/**
 * The Python process that keeps checkpoints: `python -m pyspark_pulsar.checkpoint`, many calls at once.
 *
 * <p>A frame, in both directions: length of the header and length of the body (4 bytes each, big endian), a header in
 * JSON, a body of raw bytes. The first frame holds the settings, which may be secrets and therefore are in no argument
 * and no variable of the environment. Each later one is a call with an `id`; answers come in any order.
 *
 * <p>One process for a JVM and equal settings. It is started by the first call, and again when it has gone: then calls
 * that may be repeated are, and of all others the outcome is unknown, which is an error. It ends with its standard
 * input, so with this JVM, however that ends. Every wait has a deadline.
 */
final class CheckpointProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, CheckpointProcess> SHARED = new ConcurrentHashMap<>();
  /** Above the deadlines of the process itself, which say more. */
  private static final long DEADLINE_SECONDS = 120;
  /** A file is replaced by equal bytes, a checkpoint taken over by the same owner: once or twice is the same. */
  private static final Set<String> REPEATABLE = Set.of("status", "list", "open", "read", "take_over", "mkdirs");
  /** Calls about a file that is being uploaded; another process knows nothing of it. */
  private static final String UPLOAD = "upload_";
  /** For how long an interrupted call that changes something is waited for: a query that is stopped may start at once. */
  private static final long PATIENCE_SECONDS = 10;
  private static final byte[] NO_BODY = new byte[0];

  private final String python;
  private final byte[] hello;
  /** Owners by path, of what this application has taken over: what a process that is started again looks after. */
  private final Map<String, String> takenOver = new ConcurrentHashMap<>();
  private Running running;

  private CheckpointProcess(String python, byte[] hello) {
    this.python = python;
    this.hello = hello;
  }

  static CheckpointProcess of(String python, Map<String, String> settings) {
    ObjectNode first = JSON.createObjectNode();
    first.set("settings", JSON.valueToTree(new TreeMap<>(settings)));
    byte[] hello = bytes(first);
    return SHARED.computeIfAbsent(python + " " + first, key -> new CheckpointProcess(python, hello));
  }

  static ObjectNode arguments() {
    return JSON.createObjectNode();
  }

  Answer ask(String call, ObjectNode arguments) throws IOException, Refusal {
    return ask(call, arguments, NO_BODY, 0);
  }

  /** Sends the first `length` bytes of `body` with the call. Throws {@link Refusal} for an answer that is an error. */
  Answer ask(String call, ObjectNode arguments, byte[] body, int length) throws IOException, Refusal {
    Answer answer = askAgain(call, arguments, body, length);
    if (call.equals("take_over")) {
      takenOver.put(arguments.path("path").asText(), arguments.path("owner").asText());
    }
    return answer;
  }

  private Answer askAgain(String call, ObjectNode arguments, byte[] body, int length) throws IOException, Refusal {
    boolean repeatable =
        REPEATABLE.contains(call) || (call.equals("put") && "overwrite".equals(arguments.path("mode").asText()));
    try {
      return askOnce(call, arguments, body, length, !repeatable);
    } catch (Gone fault) {
      if (!repeatable && (!fault.beforeAsking || call.startsWith(UPLOAD))) {
        throw failed(call, arguments, fault, "; whether it was done is unknown: the query finds out when it starts again");
      }
    }
    try {
      return askOnce(call, arguments, body, length, !repeatable);
    } catch (Gone fault) {
      throw failed(
          call,
          arguments,
          fault,
          "; its log says why. If this interpreter lacks pyspark-pulsar, set spark.pyspark.python (on the driver "
              + "spark.sql.catalog.<name>.python) to one that has it");
    }
  }

  private Answer askOnce(String call, ObjectNode arguments, byte[] body, int length, boolean changes)
      throws IOException, Refusal, Gone {
    Running asked = started();
    long id = asked.next.incrementAndGet();
    ObjectNode header = JSON.createObjectNode().put("id", id).put("call", call).put("log", LogLevels.now());
    header.setAll(arguments);
    CompletableFuture<Answer> answer = new CompletableFuture<>();
    asked.awaited.put(id, answer);
    try {
      asked.send(bytes(header), body, length);
      return refused(asked.wait(answer, call, changes));
    } finally {
      asked.awaited.remove(id);
    }
  }

  private static Answer refused(Answer answer) throws Refusal {
    JsonNode error = answer.header.path("error");
    if (!error.isMissingNode()) {
      throw new Refusal(error.path("kind").asText("Failed"), error.path("message").asText());
    }
    return answer;
  }

  /** The process, which has said that it is ready. */
  private synchronized Running started() throws IOException, Refusal, Gone {
    if (running != null && running.process.isAlive() && running.ended == null) {
      return running;
    }
    running = null;
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "pyspark_pulsar.checkpoint");
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Running fresh;
    try {
      fresh = new Running(builder.start());
    } catch (IOException fault) {
      throw new IOException(
          "checkpoints in Pulsar: expected an interpreter with pyspark-pulsar, got " + python + ", which does not start ("
              + fault.getMessage() + "); set spark.pyspark.python (on the driver spark.sql.catalog.<name>.python) to one",
          fault);
    }
    try {
      fresh.send(hello, NO_BODY, 0);
      refused(fresh.wait(fresh.ready, "the start", false));
      for (Map.Entry<String, String> taken : takenOver.entrySet()) {
        ObjectNode header = arguments().put("id", fresh.next.incrementAndGet()).put("call", "look_after");
        // Nobody waits for the answer: without it the topics grow, and nothing else.
        fresh.send(bytes(header.put("path", taken.getKey()).put("owner", taken.getValue())), NO_BODY, 0);
      }
    } catch (IOException | Refusal | Gone fault) {
      fresh.process.destroyForcibly();
      throw fault;
    }
    running = fresh;
    return fresh;
  }

  private IOException failed(String call, ObjectNode arguments, Gone fault, String advice) {
    String path = arguments.path("path").asText(arguments.path("source").asText(""));
    return new IOException(
        "checkpoint" + (path.isEmpty() ? "" : " " + path) + ", " + call + ": expected an answer of its process (" + python
            + " -m pyspark_pulsar.checkpoint), got none: " + fault.getMessage() + advice);
  }

  private static byte[] bytes(JsonNode tree) {
    try {
      return JSON.writeValueAsBytes(tree);
    } catch (JsonProcessingException fault) {
      throw new IllegalStateException(fault);
    }
  }

  /** One start of the process. */
  private static final class Running {
    final Process process;
    final AtomicLong next = new AtomicLong();
    final Map<Long, CompletableFuture<Answer>> awaited = new ConcurrentHashMap<>();
    final CompletableFuture<Answer> ready = new CompletableFuture<>();
    /** Why no answer comes any more; null while some may. */
    volatile String ended;
    private final DataOutputStream calls;

    Running(Process process) {
      this.process = process;
      calls = new DataOutputStream(new BufferedOutputStream(process.getOutputStream()));
      Thread listener = new Thread(this::listen, "pulsar-checkpoint");
      listener.setDaemon(true);
      listener.start();
    }

    void send(byte[] header, byte[] body, int length) throws Gone {
      synchronized (calls) {
        try {
          BoundedWrite.within(
              BoundedWrite.SECONDS,
              process,
              () -> {
                calls.writeInt(header.length);
                calls.writeInt(length);
                calls.write(header);
                calls.write(body, 0, length);
                calls.flush();
              });
        } catch (IOException fault) {
          // Half a frame was written at most, which the process cannot have acted on.
          String cause = "it takes no calls: " + fault.getMessage();
          end(cause);
          throw new Gone(cause, true);
        }
      }
    }

    /** `changes`: whether an interrupted thread goes on waiting for a while. The interrupt is kept either way. */
    Answer wait(CompletableFuture<Answer> answer, String call, boolean changes) throws IOException, Gone {
      if (ended != null) {
        // The listener may have ended before this call was among those that it tells.
        answer.completeExceptionally(new IOException(ended));
      }
      try {
        return answer.get(DEADLINE_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException fault) {
        Answer late = changes ? afterInterrupt(answer) : null;
        Thread.currentThread().interrupt();
        if (late != null) {
          return late;
        }
        throw new InterruptedIOException("checkpoint, " + call + ": interrupted while waiting for the answer");
      } catch (ExecutionException fault) {
        throw new Gone(fault.getCause().getMessage(), false);
      } catch (TimeoutException fault) {
        throw new Gone("no answer came within " + DEADLINE_SECONDS + " seconds", false);
      }
    }

    private static Answer afterInterrupt(CompletableFuture<Answer> answer) {
      try {
        return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      } catch (InterruptedException | ExecutionException | TimeoutException fault) {
        return null;
      }
    }

    private void listen() {
      try (DataInputStream answers = new DataInputStream(process.getInputStream())) {
        while (true) {
          byte[] header = new byte[answers.readInt()];
          byte[] body = new byte[answers.readInt()];
          answers.readFully(header);
          answers.readFully(body);
          JsonNode tree = JSON.readTree(header);
          CompletableFuture<Answer> waiting = tree.has("id") ? awaited.get(tree.get("id").asLong()) : ready;
          if (waiting != null) {
            waiting.complete(new Answer(tree, body));
          }
        }
      } catch (IOException | RuntimeException fault) {
        end("it ended, or answered what is no frame (" + fault + ")");
      }
    }

    private void end(String cause) {
      ended = cause;
      process.destroyForcibly();
      IOException gone = new IOException(cause);
      ready.completeExceptionally(gone);
      awaited.values().forEach(waiting -> waiting.completeExceptionally(gone));
    }
  }

  /** What the process answered. */
  record Answer(JsonNode header, byte[] body) {
    JsonNode result() {
      return header.path("result");
    }
  }

  /** The process answered with an error. */
  static final class Refusal extends Exception {
    final String kind;

    Refusal(String kind, String message) {
      super(message);
      this.kind = kind;
    }
  }

  /** The process is not there any more. */
  private static final class Gone extends Exception {
    final boolean beforeAsking;

    Gone(String message, boolean beforeAsking) {
      super(message);
      this.beforeAsking = beforeAsking;
    }
  }
}
