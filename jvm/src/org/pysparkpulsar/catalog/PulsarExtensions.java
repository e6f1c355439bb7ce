package org.pysparkpulsar.catalog;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * For `spark.sql.extensions`: what lets statements write a message's own columns, and streams read them; what keeps
 * Spark from dropping a topic that it was told to replace, and from taking its default source for the user's wish; and
 * what reads a topic's table by Spark's own Parquet scan.
 */
public final class PulsarExtensions implements Function1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // Before resolution, since Spark compares a DataFrame's columns as soon as it knows the table; and after, since
    // only then are a statement's table and columns known.
    extensions.injectHintResolutionRule(InsertedColumns::new);
    extensions.injectResolutionRule(InsertedColumns::new);
    extensions.injectResolutionRule(session -> new UnsaidProvider());
    extensions.injectPostHocResolutionRule(session -> new StreamedColumns());
    extensions.injectCheckRule(session -> new RefusedReplacements());
    extensions.injectOptimizerRule(TierScanRule::new);
    return BoxedUnit.UNIT;
  }
}
