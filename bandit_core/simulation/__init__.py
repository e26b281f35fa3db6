"""From an experiment to a result: cost, schedule, shared trials, kept blocks, cluster."""
