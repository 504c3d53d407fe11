"""The settings of a run, one frozen class a group: what the code that uses a group receives.

A setting is declared once, on its field, with its default, the values it may have and what it means for a run folder
(`fields.setting`); the docstring below it says what it is. `harness.config` composes them of files and the command
line.
"""
