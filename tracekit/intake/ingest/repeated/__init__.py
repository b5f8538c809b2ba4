"""What is stated twice: by one rule as a file is taken in, and once all files are there."""
