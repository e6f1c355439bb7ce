package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Set;
import org.apache.spark.sql.execution.python.EvaluatePython;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.pysparkpulsar.process.Answer;
import org.pysparkpulsar.process.Call;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.PythonProcess;
import org.pysparkpulsar.process.Refusal;
import org.pysparkpulsar.process.Service;

/**
 * The Python process in which Spark's own planning programs run: `pyspark_pulsar.spark.driver_process`.
 *
 * <p>Spark starts a process for each of these programs, up to seven for a stream and one for each epoch of a sink, and
 * each of them imports PySpark and this package again. Here one process stays for all queries of this JVM. A use of a
 * program is one call, whose body and answer are the bytes that Spark exchanges with a process of its own.
 */
final class DriverProcess {
  /** A query that is being stopped leaves its call at once. */
  private static final Service SERVICE =
      new Service("the Pulsar data source", "pyspark_pulsar.spark.driver_process", 128, 900, 0);

  private static final String PLANNERS = "pyspark.sql.worker.";
  /** The programs that change nothing. */
  private static final Set<String> IDEMPOTENT =
      Set.of(
          PLANNERS + "create_data_source", PLANNERS + "data_source_pushdown_filters", PLANNERS + "plan_data_source_read");

  private static final String COMMIT = PLANNERS + "commit_data_source_write";

  private final PythonProcess process;

  private DriverProcess(PythonProcess process) {
    this.process = process;
  }

  static DriverProcess of(String python) {
    return new DriverProcess(PythonProcess.of(SERVICE, python, PythonProcess.arguments()));
  }

  /** Returns the version of Python as "3.12". Throws what names an interpreter that cannot run the process. */
  String version() {
    try {
      return process.ready().get("version").asText();
    } catch (IOException fault) {
      throw raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  /** Returns and throws what `runner.runInPython` does. */
  <T> T run(PythonPlannerRunner<T> runner) {
    EvaluatePython.registerPicklers();
    String program = runner.workerModule();
    try {
      ByteArrayOutputStream request = new ByteArrayOutputStream();
      DriverPrograms.write(version(), runner, new DataOutputStream(request));
      Retry retry = IDEMPOTENT.contains(program) ? Retry.IDEMPOTENT : Retry.ONCE;
      byte[] answer = call(program, retry, PythonProcess.arguments(), request.toByteArray()).body();
      return runner.receiveFromPython(new DataInputStream(new ByteArrayInputStream(answer)));
    } catch (EOFException fault) {
      throw PulsarException.raised(
          "the Pulsar data source, " + program + ": expected a whole answer, got a part; its log says why");
    } catch (IOException fault) {
      throw raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  Answer call(String name, Retry retry, ObjectNode arguments, byte[] body) throws IOException, Refusal {
    // Rows of a job may be committed, or may still become so.
    String advice =
        name.equals(COMMIT)
            ? "whether its rows are committed is not known: with deliveryGuarantee=exactly-once, see what pyspark-pulsar "
                + "transactions resolve says before you run it again"
            : "run it again";
    return process.call(new Call(name, "the Pulsar data source, " + name, retry, advice), arguments, body, body.length);
  }

  void tell(String call, ObjectNode arguments) {
    process.tell(call, arguments);
  }

  /** An interrupt stays what it is: by its class Spark knows that a query was stopped. */
  static RuntimeException raised(IOException fault) {
    return fault instanceof InterruptedIOException
        ? PulsarException.thrown(fault)
        : PulsarException.raised(fault.getMessage());
  }
}
