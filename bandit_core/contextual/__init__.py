"""Users with features: the law of contexts, the policies that choose by them, and data of one's own."""
