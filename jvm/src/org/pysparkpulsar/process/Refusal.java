package org.pysparkpulsar.process;

/** An error that is the answer of a Python process. Its message is for users. */
public final class Refusal extends Exception {
  private final String kind;

  Refusal(String kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** Returns the kind of the error, a name of the service such as "NoSuchTable". */
  public String kind() {
    return kind;
  }
}
