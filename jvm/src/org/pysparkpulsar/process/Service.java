package org.pysparkpulsar.process;

/**
 * One kind of Python process: what it is for, and how it is called.
 *
 * @param purpose what errors name before the reason, such as "the Pulsar catalog"
 * @param module what `python -m` runs: a `pyspark_pulsar.spark.service`
 * @param callsAtOnce upper limit of calls under way; the number of threads of the service in Python. A process with a
 *     limit of 1 is ended with a call that was cancelled, because the next call would wait for it.
 * @param callSeconds deadline of an answer, far above the deadlines of the process itself, which say more
 * @param patienceSeconds how long an interrupted thread waits for the answer to a call that changes something, so that a
 *     cancelled statement leaves nothing half done; a second interrupt ends the wait
 */
public record Service(String purpose, String module, int callsAtOnce, long callSeconds, long patienceSeconds) {}
