"""Writes the rows of a split to data files. Executors only.

Modules:

    writer    assigns rows to files, and completes files
    encoding  chooses the encodings of columns from a sample of the values
    footer    computes a file's statistics for a commit, from the file's footer
"""
