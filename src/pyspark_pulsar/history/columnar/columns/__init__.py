"""The columns of tables: their types in files, and their conversion to the columns of a query.

Modules:

    stored_types     the Arrow types of columns in files
    projection       converts a column of a file to a column of a query
    absent_values    the values of a column that a file lacks
    resolution       finds the table's columns for the fields of a reader's schema
    field_matches    the outcome of matching two schemas; columns whose names in files differ from the reader's names
    avro_fields      matches the fields of two Avro documents
    protobuf_fields  matches the fields of two Protobuf plans
"""
