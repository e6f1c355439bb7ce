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
 * The Python process that runs Spark's own planning programs: `pyspark_pulsar.spark.driver_process`.
 *
 * <p>Spark itself starts a new process for each of these programs. That is up to seven processes for a
 * stream, and one process for each epoch of a sink. Each new process imports PySpark and this package again.
 * Instead, this class uses one process for all queries of the JVM. Each use of a program is one call, whose
 * body and answer are the bytes that Spark exchanges with its own process.
 */
final class DriverProcess {
  /**
   * The service. An interrupted thread does not wait for the answer, so that a query can be stopped
   * immediately.
   */
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

  /**
   * Returns the version of Python, such as "3.12".
   *
   * @throws PulsarException with the name of the interpreter if it cannot run the process
   */
  String version() {
    try {
      return process.ready().get("version").asText();
    } catch (IOException fault) {
      throw raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  /** Returns the result of `runner.runInPython`, or throws its exception. */
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
          "the Pulsar data source, " + program + ": expected a complete answer, got a part; read the log of the process");
    } catch (IOException fault) {
      throw raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  Answer call(String name, Retry retry, ObjectNode arguments, byte[] body) throws IOException, Refusal {
    // After a failed call, rows of a job may be committed, or may be committed later.
    String advice =
        name.equals(COMMIT)
            ? "the outcome of the commit is unknown: with deliveryGuarantee=exactly-once, run pyspark-pulsar "
                + "transactions resolve before you run the job again"
            : "run the query again";
    return process.call(new Call(name, "the Pulsar data source, " + name, retry, advice), arguments, body, body.length);
  }

  void post(String call, ObjectNode arguments) {
    process.post(call, arguments);
  }

  /**
   * Returns the exception for a failed call. For an interrupt, the class of the exception stays the same,
   * because Spark recognizes a stopped query by this class.
   */
  static RuntimeException raised(IOException fault) {
    return fault instanceof InterruptedIOException
        ? PulsarException.thrown(fault)
        : PulsarException.raised(fault.getMessage());
  }
}
