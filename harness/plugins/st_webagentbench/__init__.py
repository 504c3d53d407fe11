"""ST-WebAgentBench: tasks with policies, from the benchmark's own file."""
