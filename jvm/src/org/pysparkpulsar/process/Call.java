package org.pysparkpulsar.process;

/**
 * A call of a {@link Service}.
 *
 * <p>`name` is the name of the call in the process. `subject` begins errors, such as "the Pulsar catalog,
 * load_table". `retry` is the rule for the call when its process ends. `advice` ends errors, and contains what to do
 * without an answer.
 */
public record Call(String name, String subject, Retry retry, String advice) {
  /** The rule for a call whose process has ended. The call is sent to another process, or fails. */
  public enum Retry {
    /** The call is sent again, because repeating it changes nothing. */
    IDEMPOTENT,
    /** The call is sent again only if the process ended before it had read the call. */
    ONCE,
    /** The call fails, because it concerns an object that an earlier call created in the process. */
    BOUND
  }
}
