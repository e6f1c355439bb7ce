"""Writing: what one task sends (`task`), and what the delivery guarantee adds to it (`delivery`, `exactly_once`).

A row to its receipt: `batch` or `stream`, which Spark calls; `delivery`; `task`; `sender` (or `row_topics`, where rows
name their topics), which has the kernel encode and route the rows; the producers of `client`, which await receipts.
"""
