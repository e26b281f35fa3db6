"""The page Your numbers: what it asks, the reply in numbers and words, its drawing, and the page to take away."""
