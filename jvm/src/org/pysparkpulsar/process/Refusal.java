package org.pysparkpulsar.process;

/** An error that a Python process answered with. Its message is for users. */
public final class Refusal extends Exception {
  private final String kind;

  Refusal(String kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** One of the kinds of the service, such as "NoSuchTable". */
  public String kind() {
    return kind;
  }
}
