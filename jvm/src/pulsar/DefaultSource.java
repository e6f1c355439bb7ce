package pulsar;

import org.pysparkpulsar.source.PythonSource;

/**
 * The class that Spark finds for `format("pulsar")`.
 *
 * <p>Spark tries the class `FORMAT.DefaultSource` before it looks for sources written in Python. So with this
 * jar Spark looks for neither a name nor an interpreter.
 */
public final class DefaultSource extends PythonSource {}
