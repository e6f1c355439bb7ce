"""What the columns of a topic are: registry schemas to Arrow and Spark types, and back. No I/O here, but for a file of descriptors."""
