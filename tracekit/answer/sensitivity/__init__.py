"""The study of changed assumptions."""
