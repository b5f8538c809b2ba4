"""Writing a store on an object store: one object at a time, each whole or not at all."""
