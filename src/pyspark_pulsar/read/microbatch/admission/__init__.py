"""Admission of messages to the micro-batches of a stream, within its limits and in order. Driver only."""
