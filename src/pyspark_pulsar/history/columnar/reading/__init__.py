"""Rows of a range from data files, as decoding its entries would give them. Executors only.

rows        files to the query's batches: filtered, projected, in the order of positions
row_groups  the parts of files that may have rows of the range
merge       row groups whose positions overlap, as one sequence
"""
