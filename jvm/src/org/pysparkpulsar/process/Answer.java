package org.pysparkpulsar.process;

import com.fasterxml.jackson.databind.JsonNode;

/** The answer of a Python process. The answer consists of the header, as it was received, and the body. */
public record Answer(JsonNode header, byte[] body) {
  /** Returns the result of the call. */
  public JsonNode result() {
    return header.path("result");
  }
}
