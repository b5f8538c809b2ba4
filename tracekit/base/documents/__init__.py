"""Documents that people write: read as plain data, held to a shape, and asked field by field."""
