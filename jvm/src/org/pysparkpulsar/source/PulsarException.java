package org.pysparkpulsar.source;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.None$;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * What this package refuses or cannot do, in the words of the Python process.
 *
 * <p>An AnalysisException, since of that PySpark shows the message alone, in classic sessions and over Spark Connect; a
 * plain IllegalArgumentException of ALTER TABLE would be hidden behind a SparkException.
 */
public final class PulsarException extends AnalysisException {
  private PulsarException(String message) {
    super(message, none(), none(), none(), none(), Map$.MODULE$.empty(), new QueryContext[0]);
  }

  /** Never returns: Java counts the exception as checked, and Spark's interfaces do not declare it. */
  public static RuntimeException raised(String message) {
    return thrown(new PulsarException(message));
  }

  /** Never returns: throws what Java would want to be declared. */
  @SuppressWarnings("unchecked")
  public static <T extends Throwable> RuntimeException thrown(Throwable fault) throws T {
    throw (T) fault;
  }

  @SuppressWarnings("unchecked")
  private static <T> Option<T> none() {
    return (Option<T>) None$.MODULE$;
  }
}
