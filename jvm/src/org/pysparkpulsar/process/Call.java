package org.pysparkpulsar.process;

/**
 * A call of a {@link Service}.
 *
 * @param name the name by which the process knows it
 * @param subject what errors name, such as "the Pulsar catalog, load_table"
 * @param retry the rule for the call when its process ends
 * @param advice what to do without an answer, as errors say it at their end
 */
public record Call(String name, String subject, Retry retry, String advice) {
  /** The rule for a call whose process has ended: it is sent to another process, or fails. */
  public enum Retry {
    /** Yes: done twice is the same as done once. */
    IDEMPOTENT,
    /** Only if the process ended before it had read the call. */
    ONCE,
    /** No: the call is about something that an earlier call made in the process. */
    BOUND
  }
}
