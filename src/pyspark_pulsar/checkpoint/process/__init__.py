"""The process that runs checkpoint calls for the JVM, and the calls that it accepts on its standard streams."""
