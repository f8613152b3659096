"""What the account of a run (--stats) says of a runtime, for the tests that compare its stacks."""
import json


def read_runtime(stats, name):
    """Its entry, and the least number of samples that fit which is good: 99.5 % of those that could.

    None could that came before the interpreter was known, or before the unwind table of a file in the stack was there, which takes
    as long as the machine lets it; nor those that run nothing of the interpreter.
    """
    with open(stats, encoding="utf-8") as file:
        account = json.load(file)
    runtime, = (runtime for runtime in account["runtimes"] if runtime["name"] == name)
    without_table = account["user_stacks"]["truncated"]["no_table"]
    could = runtime["samples"] - runtime["early"] - runtime["outside"] - without_table
    return runtime, 0.995 * could
