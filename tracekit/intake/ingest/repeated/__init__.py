"""Rows that stand in several files, or with several sources: which of them count."""
