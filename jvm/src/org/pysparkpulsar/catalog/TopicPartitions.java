package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.pysparkpulsar.source.PulsarException;

/**
 * The partitions of a topic for SHOW PARTITIONS. Their only column is the metadata column that queries use as
 * a filter.
 */
interface TopicPartitions extends SupportsPartitionManagement {
  StructType BY = new StructType().add("__partition", DataTypes.IntegerType, false);

  /** Returns the numbers of the partitions; empty for a topic without partitions. */
  JsonNode partitions();

  /** Returns the properties of one partition. */
  Map<String, String> partition(int number);

  @Override
  default StructType partitionSchema() {
    return partitions().isEmpty() ? new StructType() : BY;
  }

  @Override
  default InternalRow[] listPartitionIdentifiers(String[] names, InternalRow wanted) {
    List<InternalRow> found = new ArrayList<>();
    for (JsonNode each : partitions()) {
      if (names.length == 0 || wanted.getInt(0) == each.asInt()) {
        found.add(new GenericInternalRow(new Object[] {each.asInt()}));
      }
    }
    return found.toArray(new InternalRow[0]);
  }

  @Override
  default Map<String, String> loadPartitionMetadata(InternalRow partition) {
    return partition(partition.getInt(0));
  }

  @Override
  default void createPartition(InternalRow partition, Map<String, String> properties) {
    throw fixed();
  }

  @Override
  default boolean dropPartition(InternalRow partition) {
    throw fixed();
  }

  @Override
  default void replacePartitionMetadata(InternalRow partition, Map<String, String> properties) {
    throw fixed();
  }

  @Override
  default boolean truncatePartition(InternalRow partition) {
    throw fixed();
  }

  private RuntimeException fixed() {
    return PulsarException.raised(
        "table " + name() + ": expected no change of single partitions, because Pulsar only adds partitions at the "
            + "end; use ALTER TABLE ... SET TBLPROPERTIES ('partitions' = '...') to add partitions");
  }
}
