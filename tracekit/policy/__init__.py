"""From what a user writes to a policy: by name, by file, with parameters; held to its promises."""
