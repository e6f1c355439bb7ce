package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.pysparkpulsar.source.BoundedWrite;
import org.pysparkpulsar.source.Interpreter;
import org.pysparkpulsar.source.LogLevels;

/**
 * The Python process that knows Pulsar: `python -m pyspark_pulsar.catalog`, one JSON document a line.
 *
 * <p>Started with the first question, and again when it has gone; catalogs of equal settings share one. It ends with
 * its standard input, so with this JVM, however that ends. Settings, which may hold secrets, go through the pipe and
 * never into arguments or environment.
 */
final class CatalogProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, CatalogProcess> SHARED = new ConcurrentHashMap<>();
  /** Far above the deadlines of the process itself; dropping a namespace goes topic by topic. */
  private static final long DEADLINE_SECONDS = 900;
  /** Questions that may be asked again when the process went away over them. */
  private static final Set<String> REPEATABLE =
      Set.of(
          "list_namespaces", "load_namespace", "list_tables", "load_table", "table_properties", "rows", "tier_scan",
          "load_changelog", "partitions", "load_partition", "list_procedures", "load_procedure", "follow_procedure");
  /** How long a cancelled statement that changes something may take to its end. A second interrupt ends it at once. */
  private static final long PATIENCE_SECONDS = 30;
  private static final int SHOWN = 200;
  private static final String FAILED = "Failed";
  private static final String END = new String("end of output");

  private final String python;
  private final String hello;
  /** The process answers one question at a time. */
  private final ReentrantLock turn = new ReentrantLock();
  private Process process;
  private OutputStream questions;
  private BlockingQueue<String> answers;
  private long asked;

  private CatalogProcess(String python, String hello) {
    this.python = python;
    this.hello = hello;
  }

  static CatalogProcess of(String catalog, Map<String, String> settings) {
    ObjectNode first = JSON.createObjectNode().put("catalog", catalog);
    first.set("settings", JSON.valueToTree(new TreeMap<>(settings)));
    String python = Interpreter.of(settings);
    return SHARED.computeIfAbsent(python + " " + first, key -> new CatalogProcess(python, first.toString()));
  }

  static ObjectNode arguments() {
    return JSON.createObjectNode();
  }

  static JsonNode tree(Object value) {
    return JSON.valueToTree(value);
  }

  static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException fault) {
      throw new IllegalStateException(fault);
    }
  }

  /** The result of the call. Throws {@link Refusal} where the process answers with an error. */
  JsonNode ask(String call, ObjectNode arguments) throws Refusal {
    if (REPEATABLE.contains(call)) {
      try {
        turn.lockInterruptibly();
      } catch (InterruptedException fault) {
        Thread.currentThread().interrupt();
        throw interrupted();
      }
    } else {
      // Not even a statement that was cancelled leaves half of its work: CREATE TABLE AS SELECT drops its table then.
      turn.lock();
    }
    try {
      return inTurn(call, arguments);
    } finally {
      turn.unlock();
    }
  }

  private JsonNode inTurn(String call, ObjectNode arguments) throws Refusal {
    boolean running = process != null;
    try {
      return askOnce(call, arguments);
    } catch (Gone fault) {
      stop();
      // One that sat idle has ended by itself, so what it was asked did not begin.
      if (!(running && (fault.beforeAsking || REPEATABLE.contains(call)))) {
        throw failed(call, fault);
      }
    }
    try {
      return askOnce(call, arguments);
    } catch (Gone fault) {
      stop();
      throw failed(call, fault);
    }
  }

  private JsonNode askOnce(String call, ObjectNode arguments) throws Refusal, Gone {
    if (process == null) {
      start();
    }
    if (!process.isAlive()) {
      throw new Gone("it has ended", true);
    }
    ObjectNode question = JSON.createObjectNode().put("id", ++asked).put("call", call).put("log", LogLevels.now());
    question.set("arguments", arguments);
    JsonNode answer = exchange(question.toString(), !REPEATABLE.contains(call));
    if (answer.path("id").asLong(-1) != asked) {
      throw new Gone("it answered another question", false);
    }
    return answer.path("result");
  }

  private void start() throws Refusal, Gone {
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "pyspark_pulsar.catalog");
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    try {
      process = builder.start();
    } catch (IOException fault) {
      throw new Refusal(
          FAILED,
          "the Pulsar catalog: expected an interpreter with pyspark-pulsar, got " + python + ", which does not start ("
              + fault.getMessage() + "); set spark.sql.catalog.<name>.python to one");
    }
    questions = process.getOutputStream();
    answers = new LinkedBlockingQueue<>();
    Thread listener = new Thread(new Listener(process, answers), "pulsar-catalog");
    listener.setDaemon(true);
    listener.start();
    try {
      exchange(hello, false);
    } catch (Refusal | Gone fault) {
      stop();
      throw fault;
    }
  }

  /** `changes`: whether the process is given time to finish what it does when this thread is interrupted. */
  private JsonNode exchange(String line, boolean changes) throws Refusal, Gone {
    try {
      BoundedWrite.within(
          BoundedWrite.SECONDS,
          process,
          () -> {
            questions.write((line + "\n").getBytes(StandardCharsets.UTF_8));
            questions.flush();
          });
    } catch (IOException fault) {
      throw new Gone("it does not take questions: " + fault.getMessage(), true);
    }
    boolean interrupted = false;
    String text;
    try {
      text = answers.poll(DEADLINE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException fault) {
      interrupted = true;
      text = changes ? afterInterrupt() : null;
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
      if (text == null) {
        // A later question must not get this one's answer.
        stop();
        throw interrupted();
      }
    }
    if (text == null) {
      throw new Gone("no answer came within " + DEADLINE_SECONDS + " seconds", false);
    }
    if (text == END) {
      throw new Gone("it ended without an answer; its log says why", false);
    }
    JsonNode answer = answered(text);
    JsonNode error = answer.path("error");
    if (!error.isMissingNode()) {
      throw new Refusal(error.path("kind").asText(), error.path("message").asText());
    }
    return answer;
  }

  /** The answer that a cancelled statement waits for, so that it does not leave half a table; null without one. */
  private String afterInterrupt() {
    try {
      return answers.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException again) {
      return null;
    }
  }

  private static JsonNode answered(String text) throws Gone {
    try {
      JsonNode answer = JSON.readTree(text);
      if (answer.isObject()) {
        return answer;
      }
    } catch (JsonProcessingException fault) {
      // Told below, with what came instead.
    }
    String shown = text.length() > SHOWN ? text.substring(0, SHOWN) + "..." : text;
    throw new Gone("it printed what is no answer: '" + shown + "', which a wrapper or site module may do", false);
  }

  private void stop() {
    if (process != null) {
      process.destroyForcibly();
      process = null;
    }
  }

  private static Refusal interrupted() {
    return new Refusal(FAILED, "the Pulsar catalog: interrupted while waiting for an answer; run it again");
  }

  private Refusal failed(String call, Gone fault) {
    if (!fault.beforeAsking && !REPEATABLE.contains(call)) {
      return new Refusal(
          FAILED,
          "the Pulsar catalog, " + call + ": expected an answer of its process, got none: " + fault.getMessage()
              + "; what it was to change may be done, done in part or not at all: look, and drop a table that is half made");
    }
    return new Refusal(
        FAILED,
        "the Pulsar catalog, " + call + ": expected an answer of its process (" + python + " -m pyspark_pulsar.catalog), "
            + "got none: " + fault.getMessage() + "; if this interpreter lacks pyspark-pulsar, set "
            + "spark.sql.catalog.<name>.python to one that has it");
  }

  /** Reads answers, so that waiting for one can have a deadline. */
  private record Listener(Process process, BlockingQueue<String> answers) implements Runnable {
    @Override
    public void run() {
      try (BufferedReader lines =
          new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          answers.add(line);
        }
      } catch (IOException fault) {
        // The process was stopped; what follows tells.
      } finally {
        answers.add(END);
      }
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

  /** The process is not there any more, or not in step. */
  private static final class Gone extends Exception {
    final boolean beforeAsking;

    Gone(String message, boolean beforeAsking) {
      super(message);
      this.beforeAsking = beforeAsking;
    }
  }
}
