package org.pysparkpulsar.process;

/**
 * A call of a {@link Service}.
 *
 * <p>`name` is the name of the call in the process. `subject` is the beginning of error messages, such as
 * "the Pulsar catalog, load_table". `retry` is the rule for the case that the process ends before the call is
 * answered. `advice` is the end of error messages. The advice is what the user should do if no answer
 * arrives.
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
