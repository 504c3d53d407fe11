"""Environments to train on: `harness serve` plays the tasks of a run for clients, over OpenEnv's protocol.

An environment session is an episode of a run like others: a worker plays it, and its agent (`ClientAgent`) asks the
server what to do next, which asks the client. So journals, resume, retries, isolation of sites and scores are those of
`harness run`, and whatever dies, the journal says where the episode goes on.
"""
