"""The papers: what they draw and claim, what was computed of it, and what is printed wrongly."""
