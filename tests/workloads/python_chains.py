"""Calls of every kind, whose chains are known: each ends in a function of its own that uses CPU time.

usage: python_chains.py SECONDS

Writes a line for each chain: the functions of Python from the outermost to the innermost one, with colons between them.
Runs on every version from 3.8 on.
"""
import asyncio
import functools
import sys
import threading
import time

chains = {}
clock = time.thread_time


def use_time(leaf):
    """Note who has called the leaf, once, and do what takes time."""
    if leaf not in chains:
        names = []
        frame = sys._getframe(1)
        while frame:
            names.append(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))
            frame = frame.f_back
        chains[leaf] = ":".join(reversed(names))
    x = 0
    for i in range(2000):
        x = x * 31 + i & 0xffff
    return x


def leaf_plain():
    use_time("plain")


def leaf_sorted(x):
    use_time("sorted")
    return x


def leaf_generator():
    use_time("generator")


def leaf_comprehension():
    use_time("comprehension")


def leaf_class():
    use_time("class")


def leaf_exception():
    use_time("exception")


def leaf_recursion():
    use_time("recursion")


def leaf_coroutine():
    use_time("coroutine")


def leaf_decorated():
    use_time("decorated")


def leaf_thread():
    use_time("thread")


def leaf_property():
    use_time("property")


def leaf_reduce(a, b):
    use_time("reduce")
    return a


def call_plain():
    call_more(1, two=2)


def call_more(*args, **kwargs):
    leaf_plain()


def call_sorted():
    sorted([2, 1], key=leaf_sorted)
    functools.reduce(leaf_reduce, [1, 2])


def generate():
    for i in range(2):
        leaf_generator()
        yield i


def generate_from():
    yield from generate()


def call_generators():
    for _ in generate_from():
        pass


def call_comprehension():
    return list(leaf_comprehension() for _ in range(2))


class Made:
    def __init__(self):
        leaf_class()

    @property
    def value(self):
        return leaf_property()


def call_class():
    Made().value


def fail(depth):
    if depth:
        fail(depth - 1)
    raise ValueError


def call_exception():
    try:
        fail(5)
    except ValueError:
        leaf_exception()


def recurse(depth):
    if depth:
        return recurse(depth - 1)
    leaf_recursion()


def call_recursion():
    recurse(60)


async def wait_for_leaf():
    leaf_coroutine()


async def call_coroutine():
    await wait_for_leaf()


def decorate(function):
    @functools.wraps(function)
    def wrapped(*args):
        return function(*args)

    return wrapped


@decorate
def call_decorated():
    leaf_decorated()


def run_thread(end):
    while clock() < end:
        leaf_thread()


def run(seconds):
    end = clock() + seconds
    thread = threading.Thread(target=run_thread, args=(clock() + seconds / 5,))
    thread.start()
    rounds = 0
    # On a virtual machine whose CPUs are taken away, one round may have no sample of some calls.
    while clock() < end or rounds < 3:
        rounds += 1
        for call in (call_plain, call_sorted, call_generators, call_comprehension, call_class, call_exception,
                     call_recursion, call_decorated):
            call()
        asyncio.run(call_coroutine())
    thread.join()


run(float(sys.argv[1]))
for name, chain in sorted(chains.items()):
    print(chain)
