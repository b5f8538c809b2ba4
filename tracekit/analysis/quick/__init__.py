"""Queries on large tables without DuckDB: the quick forms, and one query by those it builds on."""
