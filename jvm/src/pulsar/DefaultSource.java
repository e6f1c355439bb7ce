package pulsar;

import org.pysparkpulsar.source.PythonSource;

/**
 * The class that Spark finds for `format("pulsar")`.
 *
 * <p>Spark tries the class `FORMAT.DefaultSource` before it looks for sources written in Python. So with this
 * jar, Spark does not search for a Python source, and does not start an interpreter for the search.
 */
public final class DefaultSource extends PythonSource {}
