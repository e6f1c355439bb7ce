package org.pysparkpulsar.source;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.None$;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * An error of this package, with the text of the Python process.
 *
 * <p>The class extends AnalysisException because PySpark shows only the message of such an exception, in
 * classic sessions and over Spark Connect. Spark would replace an IllegalArgumentException of ALTER TABLE by
 * a SparkException.
 */
public final class PulsarException extends AnalysisException {
  private PulsarException(String message) {
    super(message, none(), none(), none(), none(), Map$.MODULE$.empty(), new QueryContext[0]);
  }

  /**
   * Throws the exception, and never returns. The exception is checked in Java, but Spark's interfaces do not
   * declare it.
   */
  public static RuntimeException raised(String message) {
    return thrown(new PulsarException(message));
  }

  /** Throws `fault`, which need not be declared, and never returns. */
  @SuppressWarnings("unchecked")
  public static <T extends Throwable> RuntimeException thrown(Throwable fault) throws T {
    throw (T) fault;
  }

  @SuppressWarnings("unchecked")
  private static <T> Option<T> none() {
    return (Option<T>) None$.MODULE$;
  }
}
