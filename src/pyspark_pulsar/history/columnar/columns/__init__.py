"""Columns of tables: their types in files, and what a file's columns are in a query.

stored_types  the Arrow types that columns have in files
projection    from a column of a file to the column that is asked for
absent_values what a column is where a file lacks it
aliases       fields that the topic's schema has renamed
"""
