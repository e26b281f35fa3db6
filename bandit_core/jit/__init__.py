"""How compiled loops are compiled, kept and told apart."""
