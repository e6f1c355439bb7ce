"""`spark.readStream`: the end and the plan of each micro-batch, and the watches that run beside it. Driver only."""
