"""From files to a store: bytes are read, sources recognised, rows ingested; and downloads."""
