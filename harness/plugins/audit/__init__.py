"""Known exploits of scores, played as agents: what passes although its task was not done.

An exploit is a short script of actions that knows its task, the references included, and does not do it. It is played
in a real browser (`exploit_agent`), or its evidence is made up as an obliging world would give it (`static_world`).
What an exploit comes to is always what the scorer says; nothing here decides it.
"""
