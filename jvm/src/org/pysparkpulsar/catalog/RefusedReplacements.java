package org.pysparkpulsar.catalog;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.pysparkpulsar.source.PulsarException;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * Refuses REPLACE TABLE, and `saveAsTable` in mode overwrite, which is the same: Spark would drop the topic with all its
 * messages first, and only then read the query, which may be of that very topic, and find out whether all else is right.
 */
final class RefusedReplacements extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    if (plan instanceof ReplaceTable statement) {
      refuse(statement.name());
    } else if (plan instanceof ReplaceTableAsSelect statement) {
      refuse(statement.name());
    }
    return BoxedUnit.UNIT;
  }

  private static void refuse(LogicalPlan name) {
    if (name instanceof ResolvedIdentifier table && table.catalog() instanceof PulsarCatalog) {
      throw PulsarException.raised(
          "table " + table.identifier() + ": expected a topic to be appended to, got REPLACE TABLE or mode overwrite, "
              + "which would drop it with its messages; append, or say DROP TABLE and CREATE TABLE");
    }
  }
}
