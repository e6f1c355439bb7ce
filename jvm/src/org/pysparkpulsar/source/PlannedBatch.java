package org.pysparkpulsar.source;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingInputPartition;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.Interpreter;
import org.pysparkpulsar.process.PythonProcess;
import org.pysparkpulsar.process.Refusal;

/** What a batch or a micro-batch reads that is planned, in the words of the Python that planned it (`read/batch/summary.py`). */
record PlannedBatch(String text, String places, OptionalLong sizeInBytes) implements Statistics {
  /** Of which nothing is told. */
  static final PlannedBatch UNKNOWN = new PlannedBatch("", "", OptionalLong.empty());

  static PlannedBatch of(InputPartition[] partitions) {
    if (!DriverPrograms.POSSIBLE) {
      return UNKNOWN;
    }
    try {
      ByteArrayOutputStream pickled = new ByteArrayOutputStream();
      DataOutputStream output = new DataOutputStream(pickled);
      output.writeInt(partitions.length);
      for (InputPartition each : partitions) {
        byte[] partition =
            each instanceof PythonStreamingInputPartition streamed
                ? streamed.pickedPartition()
                : ((PythonInputPartition) each).pickedPartition();
        output.writeInt(partition.length);
        output.write(partition);
      }
      JsonNode told =
          DriverProcess.of(Interpreter.of(Map.of()))
              .call("read_summary", Retry.IDEMPOTENT, PythonProcess.arguments(), pickled.toByteArray())
              .result();
      JsonNode size = told.get("bytes");
      return new PlannedBatch(
          told.get("text").asText(), told.get("places").asText(),
          size.isNull() ? OptionalLong.empty() : OptionalLong.of(size.asLong()));
    } catch (IOException | Refusal fault) {
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
