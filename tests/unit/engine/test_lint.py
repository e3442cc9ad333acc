"""The lint of catalogues: ways out that were tried, each of which works where nothing refuses it."""

import builtins
import importlib
import itertools
import pkgutil
import sys
from types import ModuleType

import pytest

import hostagent.core.tables
import hostagent.domains
import hostagent.facts
from hostagent.engine import lint as module
from hostagent.engine.lint import ALLOWED_STDLIB, lint
from tests.over import over

CLASS = "def f(): pass\nclass M(type):\n    def __instancecheck__(cls, value): return True\n"
#: Each leaves in `way` what leads anywhere: builtins, sys or os.
WAYS = {
    "match by keyword": "def f(): pass\nmatch f:\n    case object(__globals__=names):\n        way = names['__builtins__']",
    "match of a frame": "def g():\n    yield\nmatch g():\n    case object(gi_frame=frame):\n        way = frame.f_builtins",
    "match by position": CLASS + "X = M('X', (), {'__match_args__': ('__globals__',)})\nmatch f:\n    case X(names):\n        way = names['__builtins__']",
    "metaclass": CLASS + "class X(metaclass=M):\n    __match_args__ = ('__globals__',)\nmatch f:\n    case X(names):\n        way = names['__builtins__']",
    "ABCMeta": (
        "from collections.abc import Callable\nfrom typing import ABCMeta\ndef f(): pass\n"
        "X = ABCMeta('X', (Callable,), {'__match_args__': ('__globals__',), '__subclasshook__': classmethod(lambda c, k: True)})\n"
        "match f:\n    case X(names):\n        way = names['__builtins__']"
    ),
    "frame of a generator": "def g():\n    yield\nway = g().gi_frame.f_builtins",
    "frame of an expression": "way = (1 for _ in ()).gi_frame.f_builtins",
    "frame of a coroutine": "async def g(): pass\nc = g()\nway = c.cr_frame.f_builtins\nc.close()",
    "frame of an asynchronous generator": "async def g():\n    yield\nway = g().ag_frame.f_builtins",
    "a module under another name": "import re\nx = re\nway = x.enum.sys",
    "a module in a list": "import re\nway = [re][0].enum.sys",
    "a module as a default": "import re\ndef f(x=re):\n    return x.enum.sys\nway = f()",
    "a module by a walrus": "import re\nway = (x := re) and x.enum.sys",
    "a module by a comprehension": "import re\nway = [x.enum.sys for x in (re,)][0]",
    "a module by a lambda": "import re\nway = (lambda x: x.enum.sys)(re)",
    "a module as a decorator's": "import re\ndef d(x):\n    return lambda _: x.enum.sys\n@d(re)\ndef way(): pass",
    "a module by its alias": "import re as r\nway = r.enum.sys",
    "what typing imported": "from typing import stdlib_re\nway = stdlib_re.enum.sys" if sys.version_info < (3, 12) else "import typing\nway = typing.sys",
    "annotations that are evaluated": "from typing import get_type_hints\nclass C:\n    x: \"__import__('sys').exit\"\nway = get_type_hints(C)['x']",
    "so by the module": "import typing\nclass C:\n    x: \"__import__('sys').exit\"\nway = typing.get_type_hints(C)['x']",
    "in a function": "from typing import get_type_hints\ndef f(x: \"__import__('sys').exit\"): pass\nway = get_type_hints(f)['x']",
    "in a return": "import typing\ndef f() -> \"__import__('sys').exit\": pass\nway = typing.get_type_hints(f)['return']",
    "inside a type": "import typing\ndef f() -> 'tuple[__import__(\"sys\"), ...]': pass\nway = typing.get_type_hints(f)['return'].__args__[0]",
    "a class made by type": "def f(): pass\nX = type('X', (), {'way': f.__globals__})\nway = X.way['__builtins__']",
    "the readers of a profile": "from hostagent.profiles.profile import Reader\nway = Reader.site.__globals__['os']",
    "an attribute in a text": "def f(): pass\nway = builtins if '{0.__globals__}'.format(f) else 0",
    "an attribute in a mapped text": "def f(): pass\nway = builtins if '{f.__globals__}'.format_map({'f': f}) else 0",
    "base classes": "way = builtins if int.mro()[-1] is object else 0",
    "names by a list": "way = builtins if dir() else 0",
    "a name in other letters": "way = \uff45\uff56\uff41\uff4c('__import__(\"sys\")')",
    "a default": "def f(x=eval): return x\nway = f()('__import__(\"sys\")')",
    "a class's own body": "class C:\n    x = open\nway = builtins if C.x else 0",
    "a comprehension": "way = [x for x in (eval,)][0]('__import__(\"sys\")')",
    "a walrus": "way = (x := eval)('__import__(\"sys\")')",
    "an f-string": "way = builtins if f'{eval(\"1\")}' else 0",
    "a format in an f-string": "way = builtins if f'{1:{eval(\"3\")}}' else 0",
    "super": "way = builtins if super else 0",
    "a traceback": "try:\n    1 / 0\nexcept Exception as error:\n    way = error.__traceback__.tb_frame.f_builtins",
    "a slot by its class": "way = builtins if help and exit and quit else 0",
}  # fmt: skip


def leads_out(way):
    return way in (builtins, builtins.__dict__, sys, sys.exit) or (
        isinstance(way, ModuleType) and way.__name__ in ("os", "sys", "builtins")
    )


@pytest.mark.parametrize("name", WAYS)
def test_a_way_out_that_works_is_refused(name):
    names = {"builtins": builtins, "__name__": "way"}
    exec(WAYS[name], names)
    assert leads_out(names["way"])
    assert lint(WAYS[name])


@pytest.mark.parametrize(
    "line",
    [
        "raise SystemExit(0)",
        "raise KeyboardInterrupt",
        "try:\n    pass\nexcept:\n    pass",
        "try:\n    pass\nexcept BaseException:\n    pass",
        "def __getattr__(name): return 1",
        "class __X: pass",
        "class X(**{}): pass",
        "import itertools as i",
        "import collections.abc\nx = collections.abc",
        "import collections.abc\nx = collections",
        "import collections.abc\ncollections.OrderedDict",
        "import re\nre",
        "import re\ndel re",
        "import re\nre.template_of_nothing",
        "import math\nmath.os",
        "from hostagent.facts import gpu",
        "from hostagent.domains.gpu.tables import xids",
        "from hostagent.check import resolve",
        "from hostagent.core.frozen import dataclass",
        "from hostagent.facts.nothing import x",
        "from hostagent.facts.gpu import Nothing",
        "from hostagent.profile import load",
        "from hostagent.profile import HostagentError",
        "def f(x: 'a.b'): pass",
        "def f(x: '__x'): pass",
        "def f(x: 'lambda: 1'): pass",
        "def f(x: '['): pass",
        "def f(x: tuple['a()', ...]): pass",
        "x: 'a()' = 1",
    ],
)
def test_so_is_what_ends_a_run_or_hands_a_module_on(line):
    assert lint(line)


@pytest.mark.parametrize(
    "text",
    [
        "import re\nre.compile('x', re.IGNORECASE).match('x').group()",
        "import re\n@re.IGNORECASE\ndef f(): pass",
        "import collections.abc\ndef f(x: collections.abc.Mapping[str, int]): pass",
        "from typing import Literal, NamedTuple\nclass Params(NamedTuple):\n    x: Literal['a', 'b'] = 'a'",
        "import typing\nx: typing.Literal['a()'] = 'a()'",
        "def f(x: 'str | None', y: 'tuple[int, ...]') -> 'list[str]': pass",
        "match 1:\n    case int(x) | {'a': x} | [x, *_]:\n        pass",
        "try:\n    pass\nexcept (ValueError, Exception):\n    pass",
        "x = f'{1:>{3}}' + '%s' % 2",
        "from hostagent.check import Unread, need\nfrom hostagent.domains.gpu.tables.xids import meaning\nfrom hostagent.profile import GpuPolicy, Profile",
    ],
)
def test_what_honest_checks_say_is_allowed(text):
    assert lint(text) == ()


MODULES = [
    name.name
    for package in (hostagent.facts, hostagent.core.tables, hostagent.domains)
    for name in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not name.ispkg and not any(part.startswith(("read_", "report")) for part in name.name.split("."))
]


@over("name", [*MODULES, "hostagent.check", "hostagent.profile", *sorted(ALLOWED_STDLIB)])
def test_no_name_that_may_be_imported_is_a_module_or_reads_a_file(name):
    """What a check gets by its imports is made of facts, tables and types."""
    imported = importlib.import_module(name)
    public = module._public(name)
    assert public
    for one in public:
        value = getattr(imported, one)
        assert not isinstance(value, ModuleType), one
        if name.startswith("hostagent"):
            assert str(getattr(value, "__module__", name)).partition(".")[0] in (
                "hostagent",
                "typing",
                "types",
                "builtins",
                "re",
                "collections",
            ), one
            assert not {"open", "listdir", "read_small"} & set(getattr(getattr(value, "__code__", None), "co_names", ())), one


#: An attribute by which one gets anywhere, said in every way in which an expression can stand.
PLACES = (
    "{}", "x = {}", "x += {}", "x: int = {}", "f({})", "f(a={})", "f(*{})", "f(**{})", "[{}]", "({},)", "{{{}: 1}}", "{{1: {}}}", "{{{}}}",
    "x[{}]", "x[{}:1]", "{}[0]", "{}()", "not {}", "a + {}", "a < {}", "a and {}", "{} if a else b", "a if {} else b", "lambda: {}",
    "lambda x={}: x", "[{} for x in y]", "[x for x in {}]", "[x for x in y if {}]", "{{x: {} for x in y}}", "({} for x in y)", "(x := {})",
    "f'{{{}}}'", "f'{{1:{{{}}}}}'", "def f(x={}): pass", "def f(x: {}): pass", "def f() -> {}: pass", "def f():\n    return {}",
    "def f():\n    yield {}", "def f():\n    yield from {}", "async def f():\n    await {}", "@{}\ndef f(): pass", "@{}\nclass C: pass",
    "class C({}): pass", "class C:\n    x = {}", "class C:\n    def f(self):\n        return {}", "if {}: pass", "while {}: pass",
    "for x in {}: pass", "with {}: pass", "with a as b, {}: pass", "try:\n    {}\nexcept Exception:\n    pass", "try:\n    a\nexcept {}:\n    pass",
    "try:\n    a\nfinally:\n    {}", "raise {}", "raise a from {}", "assert {}", "assert a, {}", "del a[{}]", "match {}:\n    case 1: pass",
    "match a:\n    case 1 if {}: pass", "x = y = {}", "x, y = {}, 1", "print_ = [*{}]", "return_ = {{**{}}}", "a, *b = {}",
)  # fmt: skip
REACHES = ("a.__class__", "a.b.__globals__", "a().gi_frame", "''.format", "eval", "__builtins__", "a[0].__dict__['x']")


@pytest.mark.parametrize("place", PLACES)
def test_it_looks_wherever_an_expression_can_stand(place):
    for reach in REACHES:
        try:
            compile(place.format(reach), "", "exec")
        except SyntaxError:  # f-strings of Python 3.11 take no quotes in quotes
            continue
        assert lint(place.format(reach)), (place, reach)


def test_deep_and_odd_sources_are_errors_and_no_end_of_the_process():
    for text in ("(" * 5000, "x" + ".a" * 50_000, "-" * 100_000 + "1", "a = " + "[" * 90 + "]" * 90, "\0", "\ud800", "x: " + "'[" * 100):
        try:
            lint(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue


def test_the_lint_of_one_module_cannot_depend_on_the_order_of_its_lines():
    parts = ["import re", "x = 1", "def f(): return [re]"]
    assert all(lint("\n".join(order)) for order in itertools.permutations(parts))
