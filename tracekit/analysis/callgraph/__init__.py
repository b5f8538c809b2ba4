"""Call graphs: each trace's tree, rebuilt from rpc ids and from records that tell of each other."""
