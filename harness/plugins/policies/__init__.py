"""Policies of tasks: what an agent may not do, or must do, on the way to its goal, judged by the trace of its steps."""
