package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.pysparkpulsar.process.Interpreter;
import org.pysparkpulsar.process.StandardError;

/**
 * The Python process in which Spark's own planning programs run: `python -m pyspark_pulsar.spark.driver_process`.
 *
 * <p>Spark starts a process for each of these programs, up to seven for a stream and one for each epoch of a sink, and
 * each of them imports PySpark and this package anew. Here one stays for all queries of this JVM. Each use of a program
 * is one connection to its socket, over which the same bytes go as between Spark and a process of its own.
 *
 * <p>It is started by the first use, and again when it has gone; what was under way has failed then, as with a process
 * of Spark's. It ends with its standard input, so with this JVM, however that ends.
 */
final class DriverProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, DriverProcess> SHARED = new ConcurrentHashMap<>();
  private static final long START_SECONDS = 60;
  private static final long END_MILLIS = 1_000;

  private final String python;
  private Running running;

  private DriverProcess(String python) {
    this.python = python;
  }

  static DriverProcess of(String python) {
    return SHARED.computeIfAbsent(python, DriverProcess::new);
  }

  /** "3.12". Throws what names the interpreter where that does not start, or lacks this package. */
  String version() {
    return started().version;
  }

  /** What `runner.runInPython` returns and throws. */
  <T> T run(PythonPlannerRunner<T> runner) {
    EvaluatePython.registerPicklers();
    try (ProgramConnection connection = connect(runner.workerModule())) {
      DriverPrograms.write(started().version, runner, connection.output());
      connection.output().flush();
      return runner.receiveFromPython(connection.input());
    } catch (IOException fault) {
      throw gone(runner.workerModule(), fault);
    }
  }

  /**
   * One use of a program, by the name of its module. Throws what names the interpreter where that cannot run it. Where
   * the process ended before anything was asked of it, another one is started.
   */
  ProgramConnection connect(String program) {
    Running asked = started();
    try {
      return ProgramConnection.open(asked.door, program);
    } catch (IOException fault) {
      if (isInterrupt(fault) || !asked.hasEnded()) {
        throw gone(program, fault);
      }
    }
    try {
      return ProgramConnection.open(started().door, program);
    } catch (IOException fault) {
      throw gone(program, fault);
    }
  }

  /** An interrupt stays what it is: by its class Spark knows that a query was stopped. */
  RuntimeException gone(String program, IOException fault) {
    if (isInterrupt(fault)) {
      return PulsarException.thrown(fault);
    }
    String cause = cause(fault);
    // Rows of a job may be committed, or come to be.
    String advice = program.endsWith("commit_data_source_write")
        ? "; whether its rows are committed is not known: with deliveryGuarantee=exactly-once, see what pyspark-pulsar "
            + "transactions resolve says before you run it again"
        : "; run it again";
    return PulsarException.raised(
        "the Pulsar data source, " + program + ": expected an answer of its process on the driver (" + python
            + " -m pyspark_pulsar.spark.driver_process), got none: " + cause + advice);
  }

  private static boolean isInterrupt(IOException fault) {
    return fault instanceof InterruptedIOException || fault instanceof ClosedByInterruptException;
  }

  private synchronized String cause(IOException fault) {
    String said = fault instanceof EOFException ? "it closed the connection without an answer" : fault.toString();
    return running != null && running.hasEnded() ? said + ", because " + running.errors.end() : said;
  }

  private synchronized Running started() {
    if (running == null || !running.process.isAlive()) {
      running = start();
    }
    return running;
  }

  private Running start() {
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "pyspark_pulsar.spark.driver_process");
    Process process;
    try {
      process = builder.start();
    } catch (IOException fault) {
      throw notStarted("does not start (" + fault.getMessage() + ")");
    }
    StandardError errors = StandardError.of(process, "pulsar-driver-errors");
    try {
      String line = firstLine(process);
      if (line == null) {
        throw notStarted("was not ready: " + errors.end());
      }
      return running(process, errors, line);
    } catch (InterruptedException fault) {
      process.destroyForcibly();
      throw PulsarException.thrown(fault);
    } catch (TimeoutException fault) {
      process.destroyForcibly();
      throw notStarted("did not say within " + START_SECONDS + " seconds that it is ready");
    } catch (IOException | ExecutionException fault) {
      process.destroyForcibly();
      throw notStarted("did not say that it is ready (" + fault.getMessage() + ")");
    } catch (RuntimeException fault) {
      process.destroyForcibly();
      throw fault;
    }
  }

  private static Running running(Process process, StandardError errors, String line) throws IOException {
    JsonNode hello = JSON.readTree(line);
    if (!hello.hasNonNull("answers")) {
      throw new IOException("it printed something else first, which a wrapper or site module may do");
    }
    ProgramConnection.Door door =
        new ProgramConnection.Door(
            new InetSocketAddress(hello.get("host").asText(), hello.get("port").asInt()),
            HexFormat.of().parseHex(hello.get("asks").asText()),
            HexFormat.of().parseHex(hello.get("answers").asText()));
    return new Running(process, errors, door, hello.get("version").asText());
  }

  /** Says first what most often is wrong with an interpreter. */
  private RuntimeException notStarted(String what) {
    try {
      Interpreter.version(python);
    } catch (IOException fault) {
      return PulsarException.raised(fault.getMessage());
    }
    return PulsarException.raised(
        "the Pulsar data source: expected " + python + " to run its process on the driver, got one that " + what);
  }

  /** To read is to wait without a deadline, so that is another thread's. Null where the process ended. */
  private static String firstLine(Process process)
      throws InterruptedException, ExecutionException, TimeoutException {
    CompletableFuture<String> line = new CompletableFuture<>();
    Thread reader =
        new Thread(
            () -> {
              try {
                line.complete(
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))
                        .readLine());
              } catch (IOException fault) {
                line.completeExceptionally(fault);
              }
            },
            "pulsar-driver-process");
    reader.setDaemon(true);
    reader.start();
    return line.get(START_SECONDS, TimeUnit.SECONDS);
  }

  private record Running(Process process, StandardError errors, ProgramConnection.Door door, String version) {
    /** Returns whether the process has ended. Waits a second, because its connections break a moment before it ends. */
    boolean hasEnded() {
      try {
        return process.waitFor(END_MILLIS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException fault) {
        Thread.currentThread().interrupt();
        return false;
      }
    }
  }
}
