package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingInputPartition;
import org.pysparkpulsar.process.Interpreter;

/** What a batch or a micro-batch reads that is planned, in the words of the Python that planned it (`read/batch/summary.py`). */
record PlannedBatch(String text, String places, OptionalLong sizeInBytes) implements Statistics {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PROGRAM = "pyspark_pulsar.read.batch.summary";
  /** Of which nothing is told. */
  static final PlannedBatch UNKNOWN = new PlannedBatch("", "", OptionalLong.empty());

  static PlannedBatch of(InputPartition[] partitions) {
    if (!DriverPrograms.POSSIBLE) {
      return UNKNOWN;
    }
    try (ProgramConnection process = DriverProcess.of(Interpreter.of(Map.of())).connect(PROGRAM)) {
      DataOutputStream output = process.output();
      output.writeInt(partitions.length);
      for (InputPartition each : partitions) {
        byte[] pickled =
            each instanceof PythonStreamingInputPartition streamed
                ? streamed.pickedPartition()
                : ((PythonInputPartition) each).pickedPartition();
        output.writeInt(pickled.length);
        output.write(pickled);
      }
      output.flush();
      int length = process.input().readInt();
      if (length < 0) {
        // What Spark's programs say of a fault; the process has logged it.
        return UNKNOWN;
      }
      JsonNode told = JSON.readTree(process.input().readNBytes(length));
      JsonNode size = told.get("bytes");
      return new PlannedBatch(
          told.get("text").asText(), told.get("places").asText(),
          size.isNull() ? OptionalLong.empty() : OptionalLong.of(size.asLong()));
    } catch (IOException fault) {
      // Shown only, and for choosing a join: the query itself goes on, or fails of what is wrong.
      return UNKNOWN;
    }
  }

  /** Nobody counts the messages in entries. */
  @Override
  public OptionalLong numRows() {
    return OptionalLong.empty();
  }
}
