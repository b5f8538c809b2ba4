"""The name of a workload out of a store."""

from tracekit.store.folder import Store


def name_of(store: Store) -> str:
    """The store's folder name; ``tracekit run`` calls a store 'store', so there its parent's."""
    folder = store.path.resolve()
    # a bucket has no name above it
    above = folder.parent.name if folder.name == "store" else ""
    return above or folder.name
