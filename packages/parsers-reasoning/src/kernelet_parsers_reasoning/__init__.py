"""Tables that tell what a model thinks from what it answers."""
