"""The process that the JVM asks: frames over its standard streams, and what may be called."""
