"""Writers that write splits to data files, in processes of this machine or in tasks of a Spark job."""
