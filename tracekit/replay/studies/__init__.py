"""Studies made of many replays or decisions."""
