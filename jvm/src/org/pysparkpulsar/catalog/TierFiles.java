package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * The data files of a topic's table, which the table's manifests list. No folder is listed, and files without
 * rows for the query are not opened. Plans show the table's name and the number of files.
 */
final class TierFiles implements FileIndex {
  private final String table;
  private final Path[] paths;
  private final long[] sizes;
  private final long changed;
  private final FileStatistics statistics;

  TierFiles(JsonNode answer) {
    table = answer.get("table").asText();
    changed = answer.get("changed_ms").asLong();
    paths = new Path[answer.get("urls").size()];
    sizes = new long[paths.length];
    for (int file = 0; file < paths.length; file++) {
      paths[file] = new Path(answer.get("urls").get(file).asText());
      sizes[file] = answer.get("sizes").get(file).asLong();
    }
    statistics = new FileStatistics(answer);
  }

  @Override
  public Seq<PartitionDirectory> listFiles(Seq<Expression> partitionFilters, Seq<Expression> dataFilters) {
    List<Expression> filters = PlanRule.list(dataFilters);
    List<FileStatus> files = new ArrayList<>();
    for (int file = 0; file < paths.length; file++) {
      if (statistics.mayHaveRows(file, filters)) {
        files.add(new FileStatus(sizes[file], false, 1, sizes[file], changed, paths[file]));
      }
    }
    FileStatus[] listed = files.toArray(new FileStatus[0]);
    return PlanRule.seq(List.of(PartitionDirectory.apply(InternalRow.empty(), listed)));
  }

  /**
   * Returns a text that plans show as the path. Spark uses these paths only for writes, and never writes to
   * this relation.
   */
  @Override
  public Seq<Path> rootPaths() {
    String count = paths.length == 1 ? "1 file" : paths.length + " files";
    return PlanRule.seq(List.of(new Path(table + " (" + count + ")")));
  }

  @Override
  public String[] inputFiles() {
    String[] files = new String[paths.length];
    for (int file = 0; file < files.length; file++) {
      files[file] = paths[file].toUri().toString();
    }
    return files;
  }

  /** Does nothing, because a new state of the table gets a new relation. */
  @Override
  public void refresh() {}

  @Override
  public long sizeInBytes() {
    long bytes = 0;
    for (long size : sizes) {
      bytes += size;
    }
    return bytes;
  }

  /**
   * Returns no columns. The files of a partition are filtered by the bounds of their columns, like all other
   * files.
   */
  @Override
  public StructType partitionSchema() {
    return new StructType();
  }
}
