"""Where do two runs of one task part? Episodes side by side, step by step."""
