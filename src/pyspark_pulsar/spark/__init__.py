"""What is known of Spark's own processes: the worker's interpreter, the task that runs, the log."""
