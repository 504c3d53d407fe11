"""SafeArena: harmful tasks and harmless ones like them, from the benchmark's own files."""
