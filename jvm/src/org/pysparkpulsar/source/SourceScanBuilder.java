package org.pysparkpulsar.source;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map;

/**
 * Spark's own scan of a source in Python, with two changes: tasks return columns, and streams are planned in
 * the driver process.
 */
final class SourceScanBuilder extends PythonScanBuilder {
  /** The options that name topics. A query sets exactly one of them. */
  private static final List<String> TOPICS =
      List.of("topic", "topics", "subscribe", "topicsPattern", "subscribePattern");

  /** The name of the option with the maximum number of rows that each task returns. */
  static final String LIMIT = "limit";

  private final Query query;

  SourceScanBuilder(
      PythonDataSourceV2 source, String name, StructType columns, CaseInsensitiveStringMap options) {
    super(source, name, columns, options);
    query = new Query(source, name, columns, options);
  }

  @Override
  public Scan build() {
    return new SourceScan(query, pushedFilters());
  }

  record Query(
      PythonDataSourceV2 source, String name, StructType columns, CaseInsensitiveStringMap options) {
    String topics() {
      return TOPICS.stream().map(options::get).filter(Objects::nonNull).findFirst().orElse(name);
    }

    /** Returns the factory of readers. `counts` receives the counts of tasks; null if they are not needed. */
    PartitionReaderFactory reading(PartitionReaderFactory rows, TaskCounts counts) {
      return ColumnarReads.chosen(options) ? new ColumnarReaderFactory(rows, counts) : rows;
    }
  }

  private static final class SourceScan extends PythonScan implements SupportsReportStatistics {
    private final Query query;
    private final Filter[] pushed;
    private final SourceBatch batch;
    private boolean streams;

    SourceScan(Query query, Filter[] pushed) {
      super(query.source, query.name, query.columns, query.options, pushed);
      this.query = query;
      this.pushed = pushed;
      batch = new SourceBatch(query);
    }

    @Override
    public ColumnarSupportMode columnarSupportMode() {
      return ColumnarReads.chosen(query.options) ? ColumnarSupportMode.SUPPORTED : ColumnarSupportMode.UNSUPPORTED;
    }

    @Override
    public Batch toBatch() {
      return batch;
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      streams = true;
      return new SourceStream(query);
    }

    /**
     * Returns the statistics of a batch. The query stores the plan of the batch for later use. A stream has
     * no statistics.
     */
    @Override
    public Statistics estimateStatistics() {
      return streams ? PlannedBatch.UNKNOWN : batch.planned();
    }

    /**
     * Returns the text for plans and Spark's UI. After a batch is planned, the text also describes the
     * messages that the batch reads.
     */
    @Override
    public String description() {
      String limit = query.options.containsKey(LIMIT) ? " limit " + query.options.get(LIMIT) : "";
      String filters = pushed.length == 0 ? "" : " filters " + Arrays.toString(pushed);
      String planned = batch.isPlanned() ? " " + batch.planned().text() : "";
      return "Pulsar[" + query.topics() + "]" + planned + filters + limit;
    }

    /** Returns the details for EXPLAIN FORMATTED. */
    @Override
    public Map<String, String> getMetaData() {
      Map<String, String> details = super.getMetaData().updated("Topics", query.topics());
      if (query.options.containsKey(LIMIT)) {
        details = details.updated("PushedLimit", query.options.get(LIMIT));
      }
      return batch.isPlanned() ? details.updated("Reads", batch.planned().text()) : details;
    }
  }

  private static final class SourceBatch extends PythonBatch {
    private final Query query;
    private volatile InputPartition[] partitions;
    private PlannedBatch planned;

    SourceBatch(Query query) {
      super(query.source, query.name, query.columns, query.options);
      this.query = query;
    }

    @Override
    public synchronized InputPartition[] planInputPartitions() {
      if (partitions == null) {
        partitions = super.planInputPartitions();
      }
      return partitions;
    }

    /**
     * Returns whether the batch is already planned. The method acquires no lock, because Spark may show a
     * plan while the plan is created.
     */
    boolean isPlanned() {
      return partitions != null;
    }

    synchronized PlannedBatch planned() {
      if (planned == null) {
        planned = PlannedBatch.of(planInputPartitions());
      }
      return planned;
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return query.reading(super.createReaderFactory(), null);
    }
  }
}
