"""What policies share: formulas, measured shares, searches over batches."""
