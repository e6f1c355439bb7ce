"""The process that runs checkpoint calls for the JVM, and the calls that the JVM can make."""
