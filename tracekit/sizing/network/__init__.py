"""The trained network: its weights, its values, and which size it picks; no torch needed."""
