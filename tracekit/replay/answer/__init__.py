"""What a run answers: repeats, how policies stand, which one is best and how sure that is."""
