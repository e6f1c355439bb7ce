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

/** The summary of a planned batch or micro-batch, as Python describes it (`read/batch/summary.py`). */
record PlannedBatch(String text, String places, OptionalLong sizeInBytes) implements Statistics {
  /** The summary of a batch that Python does not describe. */
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
      JsonNode summary =
          DriverProcess.of(Interpreter.of(Map.of()))
              .call("read_summary", Retry.IDEMPOTENT, PythonProcess.arguments(), pickled.toByteArray())
              .result();
      JsonNode size = summary.get("bytes");
      return new PlannedBatch(
          summary.get("text").asText(), summary.get("places").asText(),
          size.isNull() ? OptionalLong.empty() : OptionalLong.of(size.asLong()));
    } catch (IOException | Refusal fault) {
      // The summary is only displayed, and used to choose the kind of a join. So the query continues, or
      // fails with its own error.
      return UNKNOWN;
    }
  }

  /** Returns no number, because the plan does not count the messages inside entries. */
  @Override
  public OptionalLong numRows() {
    return OptionalLong.empty();
  }
}
