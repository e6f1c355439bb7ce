package org.pysparkpulsar.source;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStreamWithTriggerAvailableNow;
import org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner;

/** A stream of Spark's, whose tasks hand over columns, and whose progress has metrics: its lag, and where it reads from. */
final class SourceStream extends PythonMicroBatchStreamWithTriggerAvailableNow implements ReportsSourceMetrics {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final SourceScanBuilder.Query query;
  private final TaskCounts counts = TaskCounts.registered();
  private Offset told;
  private InputPartition[] partitions = {};

  SourceStream(SourceScanBuilder.Query query, PythonStreamingSourceRunner runner) {
    super(query.source(), query.name(), query.columns(), query.options(), runner);
    this.query = query;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return query.reading(super.createReaderFactory(), counts);
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    partitions = super.planInputPartitions(start, end);
    return partitions;
  }

  @Override
  public Offset reportLatestOffset() {
    told = super.reportLatestOffset();
    return told;
  }

  /**
   * In `sources[].metrics` of the progress: the sums of the lag that the latest offset holds (lagMessages, ...), and what
   * tasks have read from where since the query was started (readBytes.bookie, ...).
   */
  @Override
  public Map<String, String> metrics(Optional<Offset> consumed) {
    Map<String, String> metrics = new TreeMap<>();
    try {
      JsonNode lag = JSON.readTree(told == null ? "{}" : told.json()).path("lag");
      for (Iterator<String> names = lag.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        if (lag.get(name).isNumber()) {
          metrics.put("lag" + name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1), lag.get(name).asText());
        }
      }
    } catch (JsonProcessingException fault) {
      // Then there is none to be shown.
    }
    if (partitions.length > 0) {
      metrics.put("readFrom", PlannedBatch.of(partitions).places());
    }
    counts.value().forEach((name, count) -> metrics.put(name, count.toString()));
    return metrics;
  }

  /** What progress and errors call it. */
  @Override
  public String toString() {
    return "Pulsar[" + query.topics() + "]";
  }
}
