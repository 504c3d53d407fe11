"""AssistantBench: questions on the open web with answers that a rule scores (arXiv 2407.15711)."""
