"""Call graphs: the trees of calls of traces, rebuilt from rpc ids and repaired by other records."""
