package org.pysparkpulsar.catalog;

import org.apache.spark.sql.SparkSessionExtensions;
import scala.Function1;
import scala.runtime.BoxedUnit;

/**
 * The rules of this package, for `spark.sql.extensions`.
 *
 * <p>The rules allow statements to write metadata columns, and streams to read these columns. They refuse to
 * replace a topic, because Spark would first drop the topic. They ignore Spark's default source as the format
 * of a table. They use Spark's own Parquet scan to read a topic's table.
 */
public final class PulsarExtensions implements Function1<SparkSessionExtensions, BoxedUnit> {
  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    // The rule runs before resolution, because Spark compares a DataFrame's columns as soon as it knows the
    // table. It runs again after resolution, because a statement's table and columns are known only then.
    extensions.injectHintResolutionRule(InsertedColumns::new);
    extensions.injectResolutionRule(InsertedColumns::new);
    extensions.injectResolutionRule(session -> new OmittedProvider());
    extensions.injectPostHocResolutionRule(session -> new StreamedColumns());
    extensions.injectCheckRule(session -> new RefusedReplacements());
    extensions.injectOptimizerRule(TierScanRule::new);
    return BoxedUnit.UNIT;
  }
}
