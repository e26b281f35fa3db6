"""What is asked, in its smallest pieces: numbers, rewards, budgets, contexts, their notation, and errors."""
