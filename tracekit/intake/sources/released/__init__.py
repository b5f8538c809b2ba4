"""Released traces; those of one publisher stand together."""
