"""Arrow types: beside those of Spark, beside each other, and as text."""
