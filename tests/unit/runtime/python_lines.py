"""Print the code objects of modules, with their tables of lines and the line of each instruction, for
test_python_lines.c:

    python 3.11
    code FIRST_LINE NAME
    table HEX                       "-" when it is empty
    lines END:LINE END:LINE ...     ranges of instructions by the byte that they end at; line 0 when there is none

usage: python3 python_lines.py MODULE...
       python3 python_lines.py sample       a source that has what tables have forms for

The files python_lines_VERSION.txt beside it are what the latter gives.
"""

import sys

# Lines that lie far apart, forward and back; code that is long for its line; blocks whose ends are of no line.
SAMPLE = """
import functools

def far_apart(a, b):
    first = a
""" + "\n" * 300 + """
    second = (b,
""" + "\n" * 200 + """
        a, first)
    return second

def long_line(a):
    return [""" + "a.b(a) + a[a] * " * 60 + """a]

def back_and_forth(f, a):
    return f(
        a,
        f(a,
          key=lambda x: (x,
                         a)),
        *[x
          for x in a
          if x])

def blocks(a):
    with open(a) as f, open(a) as g:
        try:
            for line in f:
                if line:
                    continue
                g.write(line)
            else:
                return a
        except (OSError,
                ValueError) as error:
            raise KeyError(a) from error
        finally:
            print(a)
    while a:
        a -= 1

async def waits(a):
    async with a as b:
        async for c in b:
            yield await c
    result = [d async for d in a]

def generates(a):
    x = yield
    yield from (
        y for y in a)
    del x

@functools.lru_cache(
    maxsize=None)
class Outer:
    value: int = 1

    class Inner(dict):
        def method(self):
            def closure():
                nonlocal self
                self = __class__
                return super
            assert self, \\
                "a text"
            return closure

    def __init__(self, **others):
        super().__init__(
            **others)
"""


def find_lines(code, size):
    """The table's own words, as the standard library reads them."""
    lines = {}
    if sys.version_info >= (3, 10):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset] = line or 0
        return lines
    import dis
    line = code.co_firstlineno
    starts = dict(dis.findlinestarts(code))
    for offset in range(0, size, 2):
        line = starts.get(offset, line)
        lines[offset] = line
    return lines


try:
    import ctypes

    address_to_line = ctypes.pythonapi.PyCode_Addr2Line
    address_to_line.argtypes = [ctypes.py_object, ctypes.c_int]
except (ImportError, AttributeError):
    address_to_line = None


def get_line(code, offset, lines):
    """What f_lineno gives, which asks PyCode_Addr2Line()."""
    line = lines.get(offset, 0)
    if address_to_line:
        told = max(address_to_line(code, offset), 0)
        if told != line:
            sys.exit("%s: instruction %d is of line %d by its table, %d by the interpreter"
                     % (code.co_name, offset, line, told))
    return line


def print_code(code):
    size = len(code.co_code)
    lines = find_lines(code, size)
    ranges = []
    for offset in range(0, size, 2):
        line = get_line(code, offset, lines)
        if ranges and ranges[-1][1] == line:
            ranges[-1][0] = offset + 2
        else:
            ranges.append([offset + 2, line])
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    print("code %d %s" % (code.co_firstlineno, getattr(code, "co_qualname", code.co_name)))
    print("table %s" % (table.hex() or "-"))
    print("lines %s" % " ".join("%d:%d" % (end, line) for end, line in ranges))
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            print_code(constant)


def read_source(module):
    if module == "sample":
        return SAMPLE
    import importlib.util
    try:
        path = importlib.util.find_spec(module).origin
    except (ImportError, AttributeError):
        return ""  # a Debian with python3-minimal has not all of them
    with open(path, "rb") as file:
        return file.read()


print("python %d.%d" % sys.version_info[:2])
if sys.version_info >= (3, 8):
    for module in sys.argv[1:]:
        print_code(compile(read_source(module), module, "exec", dont_inherit=True))
