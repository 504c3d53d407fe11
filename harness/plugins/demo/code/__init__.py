"""The embedded code host: projects, files, issues, members with roles, merge requests, todos, profiles."""
