"""Files and folders: places, locks, replacing whole folders, parts, reading ahead."""
