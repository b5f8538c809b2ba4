"""All analytics of a store: its queries, and the results that numpy computes from their rows."""
