"""A workload from a folder of Parquet files that people write by hand."""
