"""What every room stands on: errors, files, numbers, registries; imports nothing of the others."""
