package org.pysparkpulsar.catalog;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Gives a streaming query's table the columns that the query expects of it, metadata columns among them: Spark builds
 * the scan of a stream without saying which.
 */
final class StreamedColumns extends PlanRule {
  @Override
  LogicalPlan changed(LogicalPlan node) {
    if (!(node instanceof StreamingRelationV2 stream) || !(stream.table() instanceof PulsarTable table)) {
      return node;
    }
    StructType wanted = new StructType(
        list(stream.output()).stream().map(StreamedColumns::field).toArray(StructField[]::new));
    if (wanted.equals(table.read())) {
      return node;
    }
    return stream.copy(
        stream.source(), stream.sourceName(), table.reading(wanted), stream.extraOptions(), stream.output(),
        stream.catalog(), stream.identifier(), stream.v1Relation(), stream.sourceIdentifyingName());
  }

  private static StructField field(AttributeReference column) {
    return new StructField(column.name(), column.dataType(), column.nullable(),
        org.apache.spark.sql.types.Metadata.empty());
  }
}
