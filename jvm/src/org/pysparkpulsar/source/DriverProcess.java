package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;

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

  /** One use of a program, by the name of its module. Throws what names the interpreter where that cannot run it. */
  ProgramConnection connect(String program) {
    try {
      return ProgramConnection.open(started().socket, program);
    } catch (IOException fault) {
      throw gone(program, fault);
    }
  }

  /** An interrupt stays what it is: by its class Spark knows that a query was stopped. */
  RuntimeException gone(String program, IOException fault) {
    if (fault instanceof InterruptedIOException || fault instanceof ClosedByInterruptException) {
      return PulsarException.thrown(fault);
    }
    String cause = fault instanceof EOFException ? "it ended; its log says why" : fault.toString();
    // Rows of a job may be committed, or come to be.
    String advice = program.endsWith("commit_data_source_write")
        ? "; whether its rows are committed is not known: with deliveryGuarantee=exactly-once, see what pyspark-pulsar "
            + "transactions resolve says before you run it again"
        : "; run it again";
    return PulsarException.raised(
        "the Pulsar data source, " + program + ": expected an answer of its process on the driver (" + python
            + " -m pyspark_pulsar.spark.driver_process), got none: " + cause + advice);
  }

  private synchronized Running started() {
    if (running == null || !running.process.isAlive()) {
      running = start();
    }
    return running;
  }

  private Running start() {
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "pyspark_pulsar.spark.driver_process");
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    Process process;
    try {
      process = builder.start();
    } catch (IOException fault) {
      throw notStarted("does not start (" + fault.getMessage() + ")");
    }
    try {
      JsonNode hello = JSON.readTree(firstLine(process));
      return new Running(
          process, UnixDomainSocketAddress.of(hello.get("socket").asText()), hello.get("version").asText());
    } catch (IOException | RuntimeException | ExecutionException | TimeoutException fault) {
      process.destroyForcibly();
      throw notStarted("did not say within " + START_SECONDS + " seconds that it is ready");
    } catch (InterruptedException fault) {
      process.destroyForcibly();
      throw PulsarException.thrown(fault);
    }
  }

  /** Says first what most often is wrong with an interpreter. */
  private RuntimeException notStarted(String what) {
    Interpreter.version(python);
    return PulsarException.raised(
        "the Pulsar data source: expected " + python + " to run its process on the driver, got one that " + what
            + "; its log says why");
  }

  /** To read is to wait without a deadline, so that is another thread's. */
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

  private record Running(Process process, UnixDomainSocketAddress socket, String version) {}
}
