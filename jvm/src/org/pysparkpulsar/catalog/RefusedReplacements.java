package org.pysparkpulsar.catalog;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.pysparkpulsar.source.PulsarException;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A check that refuses REPLACE TABLE, and the equivalent call of `saveAsTable` in mode overwrite.
 *
 * <p>Spark would drop the topic with all its messages first. Only then would Spark run the query, which may
 * fail, or may read the dropped topic.
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
          "table " + table.identifier() + ": expected mode append, got REPLACE TABLE or mode overwrite, which would drop "
              + "the topic with its messages; append, or use DROP TABLE and CREATE TABLE");
    }
  }
}
