package org.pysparkpulsar.catalog;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.None$;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Adds metadata columns to the table of a write that names them, such as `INSERT INTO t (id, __key)` or a
 * DataFrame with the column `__key`. Other metadata columns are not added.
 */
final class InsertedColumns extends PlanRule {
  private static final String EVOLUTION = "withSchemaEvolution";

  private final SparkSession session;

  InsertedColumns(SparkSession session) {
    this.session = session;
  }

  @Override
  LogicalPlan changed(LogicalPlan node) {
    if (node instanceof InsertIntoStatement insert && insert.table() instanceof DataSourceV2Relation relation) {
      if (insert.query().resolved()) {
        DataSourceV2Relation widened = widened(relation, named(insert));
        return widened == relation ? node : CaseClass.with(insert, "table", widened);
      }
      return node;
    }
    if (node instanceof AppendData append && append.isByName()) {
      if (append.table() instanceof DataSourceV2Relation relation && append.query().resolved()) {
        DataSourceV2Relation widened = widened(relation, byName(append.query()));
        return widened == relation ? node : append.withNewTable(widened);
      }
      if (append.table() instanceof UnresolvedRelation relation && isOurs(relation)) {
        return asStatement(append, relation);
      }
    }
    return node;
  }

  /**
   * Turns the write of a DataFrame into an INSERT statement. For a DataFrame, Spark compares the columns with
   * the table's columns in the same step that finds the table. For a statement, Spark compares them in a
   * later step.
   */
  private static LogicalPlan asStatement(AppendData append, UnresolvedRelation relation) {
    Map<String, String> options = new HashMap<>(relation.options().asCaseSensitiveMap());
    options.putAll(CollectionConverters.asJava(append.writeOptions()));
    List<Object> fields = new ArrayList<>(List.of(
        relation.copy(relation.multipartIdentifier(), new CaseInsensitiveStringMap(options), relation.isStreaming()),
        Map$.MODULE$.empty(), seq(List.<String>of()), append.query(), false, false, true));
    if (CaseClass.has(append, EVOLUTION)) {
      // Two fields exist since Spark 4.2. They contain the replaced rows (none here), and whether the write
      // changes the table's schema.
      fields.add(none());
      fields.add(CaseClass.value(append, EVOLUTION));
    }
    return CaseClass.of(InsertIntoStatement.class, fields);
  }

  private boolean isOurs(UnresolvedRelation relation) {
    SessionCatalogs catalogs = SessionCatalogs.of(session);
    List<String> parts = list(relation.multipartIdentifier());
    boolean named = parts.size() > 1 && catalogs.has(parts.get(0));
    return (named ? catalogs.named(parts.get(0)) : catalogs.current()) instanceof PulsarCatalog;
  }

  /** Returns the columns that the write names, with the types of their values. */
  private static Map<String, DataType> named(InsertIntoStatement insert) {
    if (insert.byName()) {
      return byName(insert.query());
    }
    Map<String, DataType> named = byColumn();
    List<String> columns = list(insert.userSpecifiedCols());
    List<Attribute> values = list(insert.query().output());
    for (int i = 0; i < Math.min(columns.size(), values.size()); i++) {
      named.put(columns.get(i), values.get(i).dataType());
    }
    return named;
  }

  private static Map<String, DataType> byName(LogicalPlan query) {
    Map<String, DataType> named = byColumn();
    for (Attribute each : list(query.output())) {
      named.put(each.name(), each.dataType());
    }
    return named;
  }

  /**
   * Returns a map whose keys are compared like column names. Case is ignored unless `spark.sql.caseSensitive`
   * is set.
   */
  private static Map<String, DataType> byColumn() {
    return new TreeMap<>(
        SQLConf.get().caseSensitiveAnalysis() ? Comparator.naturalOrder() : String.CASE_INSENSITIVE_ORDER);
  }

  private static DataSourceV2Relation widened(DataSourceV2Relation relation, Map<String, DataType> named) {
    if (!(relation.table() instanceof PulsarTable table)) {
      return relation;
    }
    List<String> known = names(relation.output());
    List<AttributeReference> output = new ArrayList<>(list(relation.output()));
    for (StructField each : table.writable().fields()) {
      if (named.containsKey(each.name()) && !known.contains(each.name())) {
        DataType type = columnType(each.dataType(), named.get(each.name()));
        output.add(new AttributeReference(
            each.name(), type, true, Metadata.empty(), NamedExpression.newExprId(), seq(List.<String>of())));
      }
    }
    if (output.size() == known.size()) {
      return relation;
    }
    return relation.copy(
        relation.table(), seq(output), relation.catalog(), relation.identifier(), relation.options(),
        relation.timeTravelSpec());
  }

  /**
   * Returns the type of the added column. The data source also accepts keys as texts, which Spark does not
   * cast to bytes.
   */
  private static DataType columnType(DataType own, DataType given) {
    return own instanceof BinaryType && given instanceof StringType ? given : own;
  }

  @SuppressWarnings("unchecked")
  private static <T> Option<T> none() {
    return (Option<T>) None$.MODULE$;
  }
}
