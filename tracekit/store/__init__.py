"""The store: a folder of Parquet that any tool can open."""
