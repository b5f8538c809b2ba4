"""An own folder of tables: its columns, its rows, and what is held against what is stored."""
