"""All analytics of a store: the queries, and what numpy computes from their rows."""
