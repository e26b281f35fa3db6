"""The page Heavy tails."""
