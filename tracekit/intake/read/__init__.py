"""Reading: trace files become blocks of clean rows and rejects, whatever their format."""
