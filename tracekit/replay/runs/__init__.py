"""What replays say: measures of every policy, intervals, bounds, comparisons, and their folder."""
