"""What leaves the lab as a file: lessons that need neither server nor network, and tables of results."""
