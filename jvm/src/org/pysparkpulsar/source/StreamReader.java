package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.errors.QueryExecutionErrors$;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.PythonProcess;
import org.pysparkpulsar.process.Refusal;
import scala.Option;

/**
 * A stream's reader in Python, in the driver process: one of `pyspark_pulsar.spark.stream_readers`, which
 * lists its calls.
 *
 * <p>Spark has a similar protocol, but starts a process for each stream. In Spark 4.1, that protocol supports
 * neither the position of the query, nor limits, nor Trigger.AvailableNow.
 */
final class StreamReader {
  private final DriverProcess process;
  private final long number;

  private StreamReader(DriverProcess process, long number) {
    this.process = process;
    this.number = number;
  }

  static StreamReader of(SourceScanBuilder.Query query) {
    byte[] source =
        query.source()
            .getOrCreateDataSourceInPython(query.name(), query.options(), Option.apply(query.columns()))
            .dataSource();
    DriverProcess process = DriverProcess.of(query.source().source().dataSourceCls().pythonExec());
    ObjectNode arguments = PythonProcess.arguments().put("columns", query.columns().json());
    try {
      return new StreamReader(process, process.call("open_stream", Retry.IDEMPOTENT, arguments, source).result().asLong());
    } catch (IOException fault) {
      throw DriverProcess.raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.thrown(
          QueryCompilationErrors$.MODULE$.pythonDataSourceError("plan", "initialize source", refusal.getMessage()));
    }
  }

  /** Returns the answer to a call, or an empty text if the reader returns no value. Errors name the call. */
  String text(String call, String... values) {
    return new String(call(call, values), StandardCharsets.UTF_8);
  }

  /** Returns the splits between two offsets, pickled. */
  byte[][] partitions(String start, String end) {
    ByteBuffer answer = ByteBuffer.wrap(call("partitions", start, end));
    byte[][] pickled = new byte[answer.getInt()][];
    for (int index = 0; index < pickled.length; index++) {
      pickled[index] = new byte[answer.getInt()];
      answer.get(pickled[index]);
    }
    return pickled;
  }

  /** Stops the reader. A pending call is completed first. */
  void close() {
    process.post("close_stream", PythonProcess.arguments().put("stream", number));
  }

  private byte[] call(String call, String... values) {
    ObjectNode arguments = PythonProcess.arguments().put("stream", number);
    Arrays.stream(values).forEach(arguments.putArray("values")::add);
    try {
      return process.call(call, Retry.BOUND, arguments, new byte[0]).body();
    } catch (IOException fault) {
      throw DriverProcess.raised(fault);
    } catch (Refusal refusal) {
      throw PulsarException.thrown(
          QueryExecutionErrors$.MODULE$.pythonStreamingDataSourceRuntimeError(call, refusal.getMessage()));
    }
  }
}
