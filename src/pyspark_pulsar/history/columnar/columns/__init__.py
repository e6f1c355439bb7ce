"""Columns of tables: their types in files, and what a file's columns are in a query.

stored_types   the Arrow types that columns have in files
projection     from a column of a file to the column of the reader's schema
absent_values  the values of a column that a file lacks
field_matches  the outcome of matching the fields of two schemas
avro_fields, protobuf_fields  match the fields of two Avro documents, of two Protobuf plans
resolution     finds the columns of a table that hold the fields of a reader's schema
"""
