"""Calls functions in all the ways in which CPython does, writes which frames its threads have, and stands still.

usage: python3 standing.py chain | deep | interpreters

Functions whose names end with _c are called from C, which is a run of its own; those with _p from Python, which is
none from 3.11 on. The others may be either.

On stdout, for each thread, a line "thread IDENT", a line for each frame, innermost first, and a line ".":

    frame CODE INSTRUCTION RUN FIRST_LINE NAME FILE LINES

where INSTRUCTION is -1 of the frame that writes this, RUN is c, p or -, names are three words (bytes of a character,
characters, bytes in hexadecimal), and LINES is the table in hexadecimal. It ends when stdin does.
"""

import os
import sys
import threading

MODE = sys.argv[1]
told_reader, told_writer = os.pipe()
inherited = []


def encode(text):
    largest = max(map(ord, text))
    kind = 1 if largest < 256 else 2 if largest < 65536 else 4
    codec = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind]
    return "%d %d %s" % (kind, len(text), text.encode(codec).hex())


def describe(frame):
    lines = []
    instruction = -1
    while frame:
        code = frame.f_code
        name = code.co_qualname if hasattr(code, "co_qualname") else code.co_name
        table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
        ending = name.split(".")[0][-2:]
        run = ending[1] if ending in ("_c", "_p") else "-"
        lines.append(
            "frame %d %d %s %d %s %s %s"
            % (id(code), instruction, run, code.co_firstlineno, encode(name), encode(code.co_filename), table.hex())
        )
        frame = frame.f_back
        instruction = frame.f_lasti if frame else -1
    return lines


def stand_p():
    lines = ["thread %d" % threading.get_ident()] + describe(sys._getframe()) + inherited + [".", ""]
    text = "\n".join(lines).encode()
    while text:
        text = text[os.write(1, text) :]
    os.write(told_writer, b".")
    os.read(0, 1)


def first_p():
    sorted([1], key=second_c)


def second_c(_):
    third_p()


def third_p():
    list(map(fourth_c, [1]))


def fourth_c(_):
    sum(fifth_c())


def fifth_c():
    yield 1
    sixth_p()
    yield 2


def sixth_p():
    list(seventh_c())


def seventh_c():
    yield from eighth()


def eighth():
    yield 1
    ninth_p()
    yield 2


def ninth_p():
    [tenth_p() for _ in (1,)]


def tenth_p():
    try:
        raise ValueError
    except ValueError:
        eleventh_p(4)


def eleventh_p(times):
    return eleventh_p(times - 1) if times else len(Sized_c())


class Sized_c:
    def __len__(self):
        größe_p()
        return 1


def größe_p():
    名前_p()


def 名前_p():
    𠀀_p()


# Often enough for the call to be specialized, which from 3.13 on gives it a frame that Python does not show.
def 𠀀_p():
    for i in range(3000):
        Made(i == 2999)


class Made:
    def __init__(self, is_last):
        if is_last:
            twelfth_p()


def twelfth_p():
    coroutine = coroutine_c()
    try:
        coroutine.send(None)
    except StopIteration:
        pass


async def coroutine_c():
    await awaited()


async def awaited():
    with open(os.devnull):
        long_p()


LONG = "n" * 300 + "_p"
exec(compile("def %s():\n    for _ in (1,):\n        stand_p()\n" % LONG, "größe/名前.py", "exec"))
long_p = globals()[LONG]


def in_thread():
    sorted([1], key=threaded_c)


def threaded_c(_):
    stand_p()


def chain():
    threading.Thread(target=in_thread).start()
    os.read(told_reader, 1)
    first_p()


def deep_p(times):
    if times:
        deep_p(times - 1)
    else:
        stand_p()


SUBINTERPRETER = """
import sys
sys.argv = ["", "interpreters"]
with open(%r) as source:
    exec(source.read().partition("\\n# The end of what is shared.")[0])
inherited += %r
stand_p()
"""

# The end of what is shared.


def in_interpreter():
    try:
        import _interpreters as interpreters  # 3.13
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreter = interpreters.create()
    script = SUBINTERPRETER % (__file__, describe(sys._getframe()))
    interpreters.run_string(interpreter, script)


if MODE == "chain":
    chain()
elif MODE == "deep":
    deep_p(600)
elif sys.version_info >= (3, 8):
    in_interpreter()
else:
    stand_p()  # of a version that is not known, and only said
