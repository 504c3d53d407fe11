"""Back ends that train: through a fine-tuning endpoint, or by a command. They never log."""
