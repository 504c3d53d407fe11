"""What people say of episodes, with its history, and where they disagree: `harness label`."""
