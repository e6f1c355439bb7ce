"""Rows of a split to data files. Executors only.

writer    which rows go into which file, and when a file is complete
encoding  how columns are encoded, by a sample of their values
footer    what a file's footer says of its columns, for the statistics of a commit
"""
