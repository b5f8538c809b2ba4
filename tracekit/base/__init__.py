"""The base of all packages: errors, files, numbers, registries; it imports no other package."""
