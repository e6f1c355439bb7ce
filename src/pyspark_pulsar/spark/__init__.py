"""Interfaces to Spark's own processes: the worker's interpreter, the task, the driver's process and the log."""
