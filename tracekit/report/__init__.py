"""The report: one self-contained HTML file about a store or a run, and the words of facts."""
