"""One slider, its pictures, and the positions that ship."""
