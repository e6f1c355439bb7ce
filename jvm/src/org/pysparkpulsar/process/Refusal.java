package org.pysparkpulsar.process;

/** An error that a Python process sent as its answer. The message is written for users. */
public final class Refusal extends Exception {
  private final String kind;

  Refusal(String kind, String message) {
    super(message);
    this.kind = kind;
  }

  /** Returns the kind of the error, which is a name that the service defines, such as "NoSuchTable". */
  public String kind() {
    return kind;
  }
}
