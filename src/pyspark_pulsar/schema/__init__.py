"""What the columns of a topic are: registry schemas to Arrow and Spark types, and back."""
