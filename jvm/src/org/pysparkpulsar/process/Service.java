package org.pysparkpulsar.process;

/**
 * A kind of Python process: its purpose, and how it is called.
 *
 * <p>`purpose` is the beginning of error messages, such as "the Pulsar catalog". `module` is the argument of
 * `python -m`, which runs a `pyspark_pulsar.spark.service`.
 *
 * <p>`callsAtOnce` limits the pending calls, and is the number of threads of the service in Python. With a
 * limit of 1, a cancelled call also ends the process, because the next call would have to wait for the
 * cancelled call.
 *
 * <p>`callSeconds` is the deadline of an answer. The deadline is far longer than the deadlines of the process
 * itself, because the errors of the process contain more details.
 *
 * <p>`interruptSeconds` is how long an interrupted thread waits for the answer to a call that changes something. So a
 * cancelled statement leaves no partial change. A second interrupt ends the wait.
 */
public record Service(String purpose, String module, int callsAtOnce, long callSeconds, long interruptSeconds) {}
