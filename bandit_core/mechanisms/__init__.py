"""What leaves a user's device, or a curator: one mechanism a file, each usable alone."""
