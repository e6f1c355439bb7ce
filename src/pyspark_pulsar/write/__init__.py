"""The write path: the rows that one task sends (`task`), and delivery guarantees (`delivery`, `exactly_once`).

A row passes these modules before its receipt arrives: `batch` or `stream`, which Spark calls; `delivery`; `task`;
`sender`, or `row_topics` if rows name their topics. A sender lets the kernel encode and route the rows. The producers
in `client` wait for receipts.
"""
