package org.pysparkpulsar.catalog;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.CreateTable;
import org.apache.spark.sql.catalyst.plans.logical.CreateTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;

/**
 * Lets `toTable` and `saveAsTable` make a table without a format: Spark fills in its default source then, as if the user
 * had asked for Parquet files. What a statement in SQL says with USING is said, and the catalog answers it.
 */
final class UnsaidProvider extends PlanRule {
  @Override
  LogicalPlan changed(LogicalPlan node) {
    if (node instanceof CreateTable made && isUnsaid(made.name(), made.tableSpec())) {
      return made.copy(
          made.name(), made.columns(), made.partitioning(), unsaid(made.tableSpec()), made.ignoreIfExists());
    }
    if (node instanceof CreateTableAsSelect made && isUnsaid(made.name(), made.tableSpec())) {
      return made.copy(
          made.name(), made.partitioning(), made.query(), unsaid(made.tableSpec()), made.writeOptions(),
          made.ignoreIfExists(), made.isAnalyzed());
    }
    return node;
  }

  /** Of what a user wrote in SQL, the name keeps the text. */
  private static boolean isUnsaid(LogicalPlan name, TableSpecBase spec) {
    return name instanceof ResolvedIdentifier table
        && table.catalog() instanceof PulsarCatalog
        && name.origin().sqlText().isEmpty()
        && spec instanceof TableSpec
        && spec.provider().isDefined()
        && spec.provider().get().equalsIgnoreCase(SQLConf.get().defaultDataSourceName());
  }

  private static TableSpec unsaid(TableSpecBase spec) {
    TableSpec known = (TableSpec) spec;
    return known.copy(
        known.properties(), Option.empty(), known.options(), known.location(), known.comment(), known.collation(),
        known.serde(), known.external(), known.constraints());
  }
}
