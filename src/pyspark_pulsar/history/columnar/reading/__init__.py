"""A reader for the rows of a range in data files, with the values that decoding its entries returns. Executors only.

Modules:

    rows           reads files into the query's batches: filtered, projected, in the order of positions
    row_groups     selects the parts of files that may have rows of the range
    merge          merges row groups whose positions overlap into one sequence
    tiered_rows    converts rows to the reader's columns, by the schema that tiered each row
    kept_payloads  decodes the payloads that the table keeps
    request        the table and the query, as tasks need them
"""
