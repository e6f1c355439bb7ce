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
 * Lets `toTable` and `saveAsTable` create a table without a format.
 *
 * <p>Without a format, Spark inserts its default source, which is usually Parquet. A format from USING in a
 * SQL statement stays unchanged, and the catalog checks this format.
 */
final class OmittedProvider extends PlanRule {
  @Override
  LogicalPlan changed(LogicalPlan node) {
    if (node instanceof CreateTable made && isOmitted(made.name(), made.tableSpec())) {
      return made.copy(
          made.name(), made.columns(), made.partitioning(), withoutProvider(made.tableSpec()), made.ignoreIfExists());
    }
    if (node instanceof CreateTableAsSelect made && isOmitted(made.name(), made.tableSpec())) {
      return made.copy(
          made.name(), made.partitioning(), made.query(), withoutProvider(made.tableSpec()), made.writeOptions(),
          made.ignoreIfExists(), made.isAnalyzed());
    }
    return node;
  }

  /**
   * Returns whether Spark inserted the format. For a statement in SQL, the origin of the name contains the
   * statement's text.
   */
  private static boolean isOmitted(LogicalPlan name, TableSpecBase spec) {
    return name instanceof ResolvedIdentifier table
        && table.catalog() instanceof PulsarCatalog
        && name.origin().sqlText().isEmpty()
        && spec instanceof TableSpec
        && spec.provider().isDefined()
        && spec.provider().get().equalsIgnoreCase(SQLConf.get().defaultDataSourceName());
  }

  private static TableSpec withoutProvider(TableSpecBase spec) {
    TableSpec known = (TableSpec) spec;
    return known.copy(
        known.properties(), Option.empty(), known.options(), known.location(), known.comment(), known.collation(),
        known.serde(), known.external(), known.constraints());
  }
}
