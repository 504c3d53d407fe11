"""Sites that come up, reset and scale by one command: `harness sites`.

A set (`set_file`) says how the services of some sites are started and what holds their state. `lifecycle` brings
instances of them up, puts them back and takes them down, through one of the back ends `process_backend`,
`container_backend` and `remote_backend`. All state is in one folder (`state`), and is changed so that a command that is
killed is repaired by the next one. The engine knows nothing of it: `served` writes the addresses and reset hooks that
`sites=from:FILE` reads.
"""
