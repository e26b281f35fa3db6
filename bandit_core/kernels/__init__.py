"""Compiled inner loops: plain arrays and numbers in, arrays out. They know no policy, only families of them."""
