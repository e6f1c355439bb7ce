package pulsar;

import org.pysparkpulsar.source.PythonSource;

/**
 * What Spark finds for `format("pulsar")`: it tries the class `FORMAT.DefaultSource` before it looks for sources that are
 * written in Python. So where this jar is, neither a name nor an interpreter must be looked for.
 */
public final class DefaultSource extends PythonSource {}
