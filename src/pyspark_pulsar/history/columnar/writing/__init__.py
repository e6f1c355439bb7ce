"""A writer for the rows of a split to data files. Executors only.

Modules:

    writer    assigns rows to files, and completes files
    encoding  chooses the encodings of columns, by a sample of their values
    footer    computes the statistics of a commit from a file's footer
"""
