"""The process that keeps checkpoints for the JVM: frames over its standard streams, and the calls."""
