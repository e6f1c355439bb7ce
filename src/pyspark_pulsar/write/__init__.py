"""The write path: sending the rows of one task (`task`), and the delivery guarantees (`delivery`, `exactly_once`).

Spark calls the module `batch` or `stream` with the rows. Both modules call `delivery`, and `delivery` calls `task`. A
task passes the rows to `sender`, or to `row_topics` if each row names its topic. A sender calls the kernel, which
encodes and routes the rows. The producers in `client` wait for receipts.
"""
