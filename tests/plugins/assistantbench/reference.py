"""What AssistantBench's own code scores: run with the Python of an environment that has `browsergym-assistantbench`.

Reads `[[answer, reference], …]` from standard input and writes a list of scores; null = an exception. The package imports a
browser and a data set when it is imported, so only its folder `evaluation` is.
"""

import importlib.util
import json
import math
import sys
import types
import warnings


def question_scorer():
    spec = importlib.util.find_spec("browsergym.assistantbench")
    package = types.ModuleType("browsergym.assistantbench")
    package.__path__ = spec.submodule_search_locations
    sys.modules["browsergym.assistantbench"] = package
    from browsergym.assistantbench.evaluation.evaluator import question_scorer

    return question_scorer


def main():
    warnings.simplefilter("ignore")  # of empty means, whose value is what is asked for
    rule, found = question_scorer(), []
    for answer, reference in json.load(sys.stdin):
        try:
            score, _ = rule(answer, reference)
        except Exception:
            found.append(None)
        else:
            found.append(None if math.isnan(score) else float(score))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
