"""What can be proved: bounds on the regret that several policies share, and the threshold heuristic."""
