"""What a release does, in parts."""
