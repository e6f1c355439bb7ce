package org.pysparkpulsar.catalog;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.pysparkpulsar.source.SourceTable;
import scala.runtime.AbstractPartialFunction;

/**
 * Sets the columns that a streaming query reads from its table. Spark does not pass these columns to the scan
 * of a stream.
 *
 * <p>A new DataFrame of a catalog's table reads all columns, including metadata columns. When the query
 * starts, its plan is complete, and this rule removes the unused columns. The used columns are known if a
 * projection or an aggregate is above the table. Only filters and watermarks may be between the two nodes.
 */
final class StreamedColumns extends PlanRule {
  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    LogicalPlan expected = super.apply(plan);
    if (!(expected instanceof WriteToStream || expected instanceof WriteToStreamStatement)) {
      return expected;
    }
    List<LogicalPlan> leaves = list(expected.collectLeaves());
    return everywhere(expected, node -> pruned(node, leaves));
  }

  @Override
  LogicalPlan changed(LogicalPlan node) {
    if (!(node instanceof StreamingRelationV2 stream) || !(stream.table() instanceof PulsarTable table)) {
      return node;
    }
    StructType shown = schema(list(stream.output()));
    return shown.equals(table.read()) ? node : reading(stream, table.reading(shown), list(stream.output()));
  }

  /**
   * Removes unused columns. A relation that occurs twice stays unchanged, because it must remain one source
   * of the query. Checkpoints identify sources by their number.
   */
  private static LogicalPlan pruned(LogicalPlan node, List<LogicalPlan> leaves) {
    if (!(node instanceof Project || node instanceof Aggregate)) {
      return node;
    }
    List<LogicalPlan> passed = new ArrayList<>(List.of(node));
    LogicalPlan below = node.children().head();
    while (below instanceof Filter || below instanceof EventTimeWatermark || below instanceof SubqueryAlias) {
      passed.add(below);
      below = below.children().head();
    }
    if (!(below instanceof StreamingRelationV2 stream) || Collections.frequency(leaves, stream) > 1) {
      return node;
    }
    List<AttributeReference> all = list(stream.output());
    List<AttributeReference> used = new ArrayList<>(all);
    used.removeIf(column -> passed.stream().noneMatch(above -> uses(above.references(), column)));
    if (used.isEmpty()) {
      used.add(all.stream().min(Comparator.comparingInt(column -> column.dataType().defaultSize())).orElseThrow());
    }
    Table table = used.size() < all.size() ? reading(stream, schema(used)) : null;
    return table == null
        ? node
        : everywhere(node, each -> each == stream ? reading(stream, table, used) : each);
  }

  private static boolean uses(AttributeSet references, Attribute column) {
    return references.contains(column);
  }

  /**
   * Returns the same table with these columns; null if the table must read all columns, or does not belong to
   * this package.
   */
  private static Table reading(StreamingRelationV2 stream, StructType columns) {
    if (stream.table() instanceof SourceTable table) {
      return table.reading(columns, stream.extraOptions());
    }
    return stream.table() instanceof PulsarTable table && SourceTable.prunes(table.scanOptions(stream.extraOptions()))
        ? table.reading(columns)
        : null;
  }

  private static StreamingRelationV2 reading(
      StreamingRelationV2 stream, Table table, List<AttributeReference> columns) {
    return CaseClass.with(CaseClass.with(stream, "table", table), "output", seq(columns));
  }

  private static StructType schema(List<AttributeReference> columns) {
    return new StructType(columns.stream().map(StreamedColumns::field).toArray(StructField[]::new));
  }

  private static StructField field(AttributeReference column) {
    return new StructField(column.name(), column.dataType(), column.nullable(),
        org.apache.spark.sql.types.Metadata.empty());
  }

  private static LogicalPlan everywhere(
      LogicalPlan plan, java.util.function.UnaryOperator<LogicalPlan> change) {
    return plan.transformDown(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return true;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return change.apply(node);
          }
        });
  }
}
