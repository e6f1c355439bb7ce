package org.pysparkpulsar.checkpoint;

import java.io.IOException;

/**
 * The error of an application whose checkpoint another application has taken over. The writes of the first
 * application have no effect any more.
 */
public final class TakenOverException extends IOException {
  TakenOverException(String message) {
    super(message);
  }
}
