package org.pysparkpulsar.process;

/**
 * A kind of Python process: its purpose, and how it is called.
 *
 * <p>`purpose` begins errors, such as "the Pulsar catalog". `module` is the argument of `python -m`, which runs a
 * `pyspark_pulsar.spark.service`.
 *
 * <p>`callsAtOnce` limits the pending calls, and is the number of threads of the service in Python. With a limit of 1
 * a cancelled call also ends the process, because the next call would wait for it.
 *
 * <p>`callSeconds` is the deadline of an answer. It is far longer than the deadlines of the process itself, whose
 * errors contain more.
 *
 * <p>`interruptSeconds` is how long an interrupted thread waits for the answer to a call that changes something. So a
 * cancelled statement leaves no partial change. A second interrupt ends the wait.
 */
public record Service(String purpose, String module, int callsAtOnce, long callSeconds, long interruptSeconds) {}
