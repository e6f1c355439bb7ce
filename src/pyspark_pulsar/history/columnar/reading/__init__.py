"""Reads the rows of a range from data files: the same rows as a read from a broker returns. Runs on executors only.

Modules:

    rows           reads files, filters and converts the rows, and returns batches in the order of positions
    row_groups     selects the parts of files that may have rows of the range
    merge          merges row groups whose positions overlap into one sequence
    tiered_rows    converts rows to the reader's columns, by the schema with which each row was written
    kept_payloads  decodes the payloads that the table keeps
    request        descriptions of the table and the query, for tasks
"""
