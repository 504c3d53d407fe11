"""Why did it fail? Rules that say of each failure whether it is the harness's, the environment's or the model's."""
