"""The search for the fewest nodes, the cheapest, or those to add: replays, order by order."""
