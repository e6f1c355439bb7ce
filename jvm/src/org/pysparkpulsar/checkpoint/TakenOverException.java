package org.pysparkpulsar.checkpoint;

import java.io.IOException;

/** Another application has taken the checkpoint over: nothing that this one writes counts any more. */
public final class TakenOverException extends IOException {
  TakenOverException(String message) {
    super(message);
  }
}
