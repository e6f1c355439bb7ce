package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.runtime.AbstractPartialFunction;

/**
 * Reads the messages in a topic's table with Spark's own Parquet scan, and later messages with the data
 * source:
 *
 * <pre>
 *
 *     topic  ->  Union
 *                  Project              the query's columns, under their own ids
 *                    Filter             only if options bound the times
 *                      files            Spark's scan of Parquet, without listing
 *                  Project
 *                    topic              the same columns, from the positions where the table ends
 * </pre>
 *
 * <p>Spark's own rules then move filters, columns, fields of structs and limits into both sides, so this rule
 * is among those rules. When this rule runs, the earlier rules have already added a Project above the topic,
 * which contains the needed columns.
 *
 * <p>The catalog's process decides whether and how the table can be read, once for each topic of a query. The
 * result is marked as settled, and the rule does not change a settled topic again. The rule ignores streams,
 * which have other relations.
 */
final class TierScanRule extends Rule<LogicalPlan> {
  private static final Logger LOG = LoggerFactory.getLogger(TierScanRule.class);

  private final SparkSession session;

  TierScanRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.transformDown(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return true;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return changed(node);
          }
        });
  }

  private LogicalPlan changed(LogicalPlan node) {
    if (node instanceof Project project && below(project.child()) instanceof DataSourceV2Relation relation) {
      LogicalPlan read = read(relation, columns(relation, project));
      return project.copy(project.projectList(), onto(project.child(), read));
    }
    return isOpen(node) ? read((DataSourceV2Relation) node, PlanRule.list(((DataSourceV2Relation) node).output())) : node;
  }

  /**
   * Returns the topic below the filters of `node`; null if the topic is already settled, or if no topic is
   * there.
   */
  private static LogicalPlan below(LogicalPlan node) {
    LogicalPlan leaf = node;
    while (leaf instanceof Filter filter) {
      leaf = filter.child();
    }
    return isOpen(leaf) ? leaf : null;
  }

  private static boolean isOpen(LogicalPlan node) {
    return node instanceof DataSourceV2Relation relation
        && relation.table() instanceof PulsarTable table
        && !table.isSettled();
  }

  /** Returns a plan with the same filters above another leaf. */
  private static LogicalPlan onto(LogicalPlan node, LogicalPlan leaf) {
    return node instanceof Filter filter ? filter.copy(filter.condition(), onto(filter.child(), leaf)) : leaf;
  }

  /** Returns the columns that the Project, or a filter below it, uses. */
  private static List<AttributeReference> columns(DataSourceV2Relation relation, Project project) {
    AttributeSet used = project.references();
    for (LogicalPlan node = project.child(); node instanceof Filter filter; node = filter.child()) {
      used = used.$plus$plus(filter.references());
    }
    List<AttributeReference> columns = new ArrayList<>();
    for (AttributeReference column : PlanRule.list(relation.output())) {
      if (used.contains(column)) {
        columns.add(column);
      }
    }
    return columns;
  }

  /**
   * Returns a plan that reads these columns of the topic, with their ids in the query. The plan is the union,
   * or the settled topic.
   */
  private LogicalPlan read(DataSourceV2Relation relation, List<AttributeReference> columns) {
    PulsarTable table = (PulsarTable) relation.table();
    Map<String, String> options = table.scanOptions(relation.options());
    TierScan scan = PulsarTable.mayHaveColumns(options) ? scan(table, options, columns) : null;
    if (scan == null) {
      return settled(relation, table, options);
    }
    LogicalPlan files = scan.plan(columns);
    if (scan.rest() == null) {
      return files;
    }
    LogicalPlan rest = rest(settled(relation, table, scan.rest()).newInstance(), relation, columns);
    return new Union(PlanRule.seq(List.of(files, rest)), false, false);
  }

  /** Returns the scan of the topic's table; null if the data source must read all messages. */
  private TierScan scan(PulsarTable table, Map<String, String> options, List<AttributeReference> columns) {
    JsonNode answer = table.tierScan(options, schema(columns));
    String refused = answer.has("refused") ? answer.get("refused").asText() : TierScan.refusal(answer, session);
    if (refused != null) {
      LOG.info(
          "Reading a topic's table with the data source instead of Spark's Parquet scan ({}): {}", refused, table.name());
      return null;
    }
    return new TierScan(answer, session);
  }

  private static DataSourceV2Relation settled(
      DataSourceV2Relation relation, PulsarTable table, Map<String, String> options) {
    return relation.copy(
        table.settled(options), relation.output(), relation.catalog(), relation.identifier(), relation.options(),
        relation.timeTravelSpec());
  }

  /**
   * Returns a plan with these columns of `relation`. The relation has the same columns as `topic`, but with
   * other ids.
   */
  private static LogicalPlan rest(
      DataSourceV2Relation relation, DataSourceV2Relation topic, List<AttributeReference> columns) {
    List<AttributeReference> given = PlanRule.list(topic.output());
    List<NamedExpression> chosen = new ArrayList<>();
    for (AttributeReference column : columns) {
      chosen.add(PlanRule.list(relation.output()).get(given.indexOf(column)));
    }
    return new Project(PlanRule.seq(chosen), relation);
  }

  private static StructType schema(List<AttributeReference> columns) {
    return new StructType(
        columns.stream()
            .map(column -> new StructField(column.name(), column.dataType(), true, Metadata.empty()))
            .toArray(StructField[]::new));
  }
}
