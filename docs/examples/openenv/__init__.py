"""The demo's tasks as an OpenEnv environment."""
