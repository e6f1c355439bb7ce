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
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceOffset;
import scala.Option;

/**
 * A stream whose reader in Python determines the offsets and splits ({@link StreamReader}). Its tasks return
 * columns, and its progress has metrics: the lag, and the amounts that were read from each location.
 *
 * <p>Spark's own stream of a source in Python differs between versions, and has no limits in 4.1.
 */
final class SourceStream implements MicroBatchStream, SupportsTriggerAvailableNow, ReportsSourceMetrics {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** The name that the Python program uses for a read without limits. */
  private static final String ALL = "all";

  private final SourceScanBuilder.Query query;
  private final StreamReader reader;
  private final TaskCounts counts = TaskCounts.registered();
  private Offset latest;
  private InputPartition[] partitions = {};

  SourceStream(SourceScanBuilder.Query query) {
    this.query = query;
    reader = StreamReader.of(query);
  }

  @Override
  public Offset initialOffset() {
    return deserializeOffset(reader.text("initialOffset"));
  }

  /** Fails, because Spark calls this method only for streams without limits. */
  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("latestOffset: expected a start and a limit, got none");
  }

  /**
   * Returns the latest offset within the limit. The limit is "all", or the result of {@link
   * #getDefaultReadLimit}.
   */
  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    String which = limit instanceof ReadAllAvailable ? ALL : "limited";
    return deserializeOffset(reader.text("latestOffset", start.json(), which));
  }

  @Override
  public ReadLimit getDefaultReadLimit() {
    String limit = reader.text("getDefaultReadLimit");
    return limit.equals(ALL) ? ReadLimit.allAvailable() : new OptionsLimit(limit);
  }

  @Override
  public void prepareForTriggerAvailableNow() {
    reader.text("prepareForTriggerAvailableNow");
  }

  @Override
  public Offset reportLatestOffset() {
    String offset = reader.text("reportLatestOffset");
    latest = offset.isEmpty() ? null : deserializeOffset(offset);
    return latest;
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    byte[][] pickled = reader.partitions(start.json(), end.json());
    InputPartition[] planned = new InputPartition[pickled.length];
    for (int index = 0; index < planned.length; index++) {
      planned[index] = new PythonStreamingInputPartition(index, pickled[index], Option.empty());
    }
    partitions = planned;
    return planned;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    PythonDataSourceV2 source = query.source();
    byte[] function = source.getOrCreateReadInfo(query.name(), query.options(), query.columns(), true).func();
    return query.reading(
        new PythonStreamingPartitionReaderFactory(
            source.source(), function, query.columns(), Option.empty(), Option.empty()),
        counts);
  }

  @Override
  public void commit(Offset end) {
    reader.text("commit", end.json());
  }

  @Override
  public void stop() {
    reader.close();
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new PythonStreamingSourceOffset(json);
  }

  /**
   * Returns the metrics for `sources[].metrics` of the progress.
   *
   * <p>The first metrics are the sums of the lag in the latest offset (lagMessages, ...). The others are the amounts
   * that tasks have read from each location since the start of the query (readBytes.bookie, ...).
   */
  @Override
  public Map<String, String> metrics(Optional<Offset> consumed) {
    Map<String, String> metrics = new TreeMap<>();
    try {
      JsonNode lag = JSON.readTree(latest == null ? "{}" : latest.json()).path("lag");
      for (Iterator<String> names = lag.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        if (lag.get(name).isNumber()) {
          metrics.put("lag" + name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1), lag.get(name).asText());
        }
      }
    } catch (JsonProcessingException fault) {
      // If the lag cannot be parsed, no lag is shown.
    }
    if (partitions.length > 0) {
      metrics.put("readFrom", PlannedBatch.of(partitions).places());
    }
    counts.value().forEach((name, count) -> metrics.put(name, count.toString()));
    return metrics;
  }

  /** Returns the name of the stream in progress reports and errors. */
  @Override
  public String toString() {
    return "Pulsar[" + query.topics() + "]";
  }

  /** The limits that the options set. Only the reader in Python interprets these limits. `text` is for logs. */
  private record OptionsLimit(String text) implements ReadLimit {
    @Override
    public String toString() {
      return text;
    }
  }
}
