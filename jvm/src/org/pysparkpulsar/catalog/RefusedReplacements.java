package org.pysparkpulsar.catalog;

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTable;
import org.apache.spark.sql.catalyst.plans.logical.ReplaceTableAsSelect;
import org.pysparkpulsar.source.PulsarException;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * A check that refuses REPLACE TABLE, and `saveAsTable` in mode overwrite, which is the same.
 *
 * <p>Spark would drop the topic with all its messages first. Only then would it read the query, which may
 * read that topic, and find other errors.
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
