"""What the screens share. It draws and words what the core computes; it computes no regret itself."""
