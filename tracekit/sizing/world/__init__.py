"""The simulation of the sizing study: settings, simulation set, periods and nodes."""
