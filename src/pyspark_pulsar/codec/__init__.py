"""Wrappers of the kernel: entries to Arrow record batches, and record batches to SEND frames."""
