package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.spark.api.python.SpecialLengths$;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.errors.QueryExecutionErrors$;
import org.pysparkpulsar.process.LogLevels;
import scala.Option;

/**
 * A stream's reader in Python, in the process that stays: `pyspark_pulsar.spark.stream_program`, where the words are that
 * go between the two.
 *
 * <p>Spark has such a conversation as well. It starts a process for each, and in 4.1 it has no words for where the query
 * stands, for limits and for Trigger.AvailableNow.
 */
final class StreamReader {
  private static final String PROGRAM = "pyspark_pulsar.spark.stream_program";
  private static final ObjectMapper JSON = new ObjectMapper();

  private final DriverProcess process;
  private final ProgramConnection connection;

  private StreamReader(DriverProcess process) {
    this.process = process;
    connection = process.connect(PROGRAM);
  }

  static StreamReader of(SourceScanBuilder.Query query) {
    byte[] source =
        query.source()
            .getOrCreateDataSourceInPython(query.name(), query.options(), Option.apply(query.columns()))
            .dataSource();
    StreamReader reader = new StreamReader(DriverProcess.of(query.source().source().dataSourceCls().pythonExec()));
    try {
      reader.send(source);
      reader.send(query.columns().json().getBytes(StandardCharsets.UTF_8));
      if (reader.receive() == null) {
        String said = reader.fault();
        reader.close();
        throw PulsarException.thrown(
            QueryCompilationErrors$.MODULE$.pythonDataSourceError("plan", "initialize source", said));
      }
      return reader;
    } catch (IOException fault) {
      reader.close();
      throw reader.process.gone(PROGRAM, fault);
    }
  }

  /** What the reader answers to a call; empty where it has nothing to say. Throws what names the call where it fails. */
  String text(String call, String... arguments) {
    return new String(ask(call, arguments), StandardCharsets.UTF_8);
  }

  /** The splits between two offsets, pickled. */
  byte[][] partitions(String start, String end) {
    ByteBuffer answer = ByteBuffer.wrap(ask("partitions", start, end));
    byte[][] pickled = new byte[answer.getInt()][];
    for (int index = 0; index < pickled.length; index++) {
      pickled[index] = new byte[answer.getInt()];
      answer.get(pickled[index]);
    }
    return pickled;
  }

  /** The reader stops. */
  void close() {
    try {
      connection.close();
    } catch (IOException fault) {
      // It is closed all the same.
    }
  }

  private byte[] ask(String call, String... arguments) {
    try {
      send(JSON.writeValueAsBytes(new Object[] {call, arguments, LogLevels.now()}));
      byte[] answer = receive();
      if (answer == null) {
        throw PulsarException.thrown(QueryExecutionErrors$.MODULE$.pythonStreamingDataSourceRuntimeError(call, fault()));
      }
      return answer;
    } catch (IOException fault) {
      throw process.gone(PROGRAM, fault);
    }
  }

  private void send(byte[] bytes) throws IOException {
    connection.output().writeInt(bytes.length);
    connection.output().write(bytes);
    connection.output().flush();
  }

  /** Null where a fault follows instead. */
  private byte[] receive() throws IOException {
    int length = connection.input().readInt();
    return length == SpecialLengths$.MODULE$.PYTHON_EXCEPTION_THROWN() ? null : exactly(length);
  }

  private String fault() throws IOException {
    return new String(exactly(connection.input().readInt()), StandardCharsets.UTF_8).stripTrailing();
  }

  private byte[] exactly(int length) throws IOException {
    byte[] bytes = new byte[length];
    connection.input().readFully(bytes);
    return bytes;
  }
}
