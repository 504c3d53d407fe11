"""A task from what a person does: `harness record`."""
