# Walks in many kinds of situation, compared with sys._getframe().  walk_situations.py LIBRARY [ROUNDS]
import abc, asyncio, collections, contextlib, copy, dataclasses, faulthandler, functools, gc, importlib, itertools, json, operator
import os, pickle, re, signal, sys, tempfile, threading, types, weakref
import builtins

from witness import CALLBACK, check, find, finish, free, held, why_off, wrong
import witness

if sys.version_info < (3, 8) or sys.version_info >= (3, 15):
    assert free.witness_find() == 1
    print("switched off:", why_off())
    sys.exit(0 if why_off() and why_off().startswith("this version") else 1)
find()

NEW = sys.version_info >= (3, 10)
situations = []


def situation(f):
    situations.append(f)
    return f


@situation
def plain_function():
    def inner(a, b=2, *c, d=4, **e):
        check("function")
        return a

    inner(1)
    inner(1, 2, 3, d=5, z=1)
    (lambda: check("lambda"))()
    [check("list comprehension") for _ in range(2)]
    {check("set comprehension") for _ in range(2)}
    {k: check("dict comprehension") for k in range(2)}
    [[check("nested comprehension") for _ in range(2)] for _ in range(2)]
    x = 1 if check("conditional expression") else 2
    assert not check("assert"), "no"
    f"{check('f-string')!r:>10}"
    (
        check(
            "call over lines"
        ),
        check("same statement"),
    )
    for _ in range(2):
        check("loop")
    else:
        check("else of a loop")
    while not check("while"):
        break
    del x


class Base(metaclass=abc.ABCMeta):
    check("class body")

    def __init_subclass__(cls, **k):
        check("__init_subclass__")

    def __new__(cls, *a):
        check("__new__")
        return super().__new__(cls)

    def __init__(self, *a):
        check("__init__")

    @property
    def prop(self):
        check("property")

    @prop.setter
    def prop(self, v):
        check("property setter")

    @staticmethod
    def static():
        check("staticmethod")

    @classmethod
    def klass(cls):
        check("classmethod")

    @functools.lru_cache(None)
    def cached(self, n):
        check("lru_cache")
        return n and self.cached(n - 1)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        check("__getattr__")
        return 3

    def __call__(self):
        check("__call__")

    def __getitem__(self, k):
        check("__getitem__")
        if k > 2:
            raise IndexError
        return k

    def __eq__(self, other):
        check("__eq__")
        return True

    def __hash__(self):
        check("__hash__")
        return 1

    def __lt__(self, other):
        check("__lt__")
        return False

    def __len__(self):
        check("__len__")
        return 3

    def __index__(self):
        check("__index__")
        return 1

    def __add__(self, o):
        check("__add__")
        return self

    def __radd__(self, o):
        check("__radd__")
        return self

    def __repr__(self):
        check("__repr__")
        return "Base"

    def __enter__(self):
        check("__enter__")

    def __exit__(self, *a):
        check("__exit__")
        return True

    def __contains__(self, x):
        check("__contains__")
        return True

    def __iter__(self):
        check("__iter__")
        return iter((1, 2))

    def __reduce__(self):
        check("__reduce__")
        return (Base, ())

    def __setattr__(self, n, v):
        check("__setattr__")
        object.__setattr__(self, n, v)

    @abc.abstractmethod
    def nothing(self):
        pass


@situation
def methods():
    class Derived(Base, metaclass=abc.ABCMeta):
        def nothing(self):
            super().static()

    d = Derived(1)
    d.prop, d.static(), d.klass(), d.missing, d(), d[1], d == d, hash(d), d < d, len(d)
    object.__setattr__(d, "x", 1)
    d.y = 2
    [10, 20][d]
    d + 1, 1 + d, repr(d), 3 in d, list(d), d.nothing(), d.cached(3)
    Derived.cached.cache_clear()
    with d:
        raise ValueError
    {d: 1}[d]
    [d].index(Derived())
    sorted([d, d])
    "%r" % d, str(d), "{}".format(d)
    operator.attrgetter("prop")(d)
    functools.partial(d)()
    a, *b = d
    for i in zip(d, d):
        pass
    copy.copy([d])


class Cheap:
    __slots__ = ("n",)

    def __init__(self, n):
        if n % 40 == 0:
            check("hot class call")
        self.n = n


@situation
def hot_classes():
    for n in range(400):
        Cheap(n)


@situation
def generators():
    def counting(n):
        try:
            for k in range(n):
                check("generator")
                got = yield k
                if got:
                    check("generator after send")
        except KeyError:
            check("generator after throw")
            yield -1
        finally:
            check("generator closing")

    def delegating():
        result = yield from counting(2)
        check("after yield from")
        return result

    list(counting(2)), sum(counting(3)), max(counting(2)), tuple(delegating()), dict.fromkeys(counting(2))
    g = counting(3)
    next(g)
    g.send(1)
    g.throw(KeyError("x"))
    g.close()
    for _ in delegating():
        check("body of a for over a generator")
    sum(check("generator expression") or k for k in range(3))
    any(check("generator in any") for _ in range(2))
    list(map(lambda k: check("map"), range(2)))
    list(filter(lambda k: check("filter"), range(2)))
    list(itertools.chain.from_iterable(counting(2) for _ in range(2)))
    list(itertools.takewhile(lambda k: check("takewhile") or True, counting(2)))
    h = counting(3)
    next(h)
    del h
    with contextlib.contextmanager(counting)(1):
        check("contextmanager")


@situation
def coroutines():
    async def leaf(n):
        check("coroutine")
        await asyncio.sleep(0)
        check("coroutine after sleep")
        return n

    async def items():
        for k in range(2):
            check("async generator")
            yield await leaf(k)

    class Manager:
        async def __aenter__(self):
            check("__aenter__")

        async def __aexit__(self, *a):
            check("__aexit__")

    class Waitable:
        def __await__(self):
            check("__await__")
            yield from leaf(1).__await__()

    async def main():
        await asyncio.gather(leaf(1), leaf(2), Waitable())
        async for k in items():
            check("async for")
        async with Manager():
            check("async with")
        [k async for k in items()]
        [await leaf(k) for k in range(2)]
        task = asyncio.ensure_future(leaf(3))
        task.add_done_callback(lambda t: check("done callback"))
        asyncio.get_running_loop().call_soon(check, "call_soon")
        await task
        await asyncio.get_running_loop().run_in_executor(None, check, "run_in_executor")

    asyncio.run(main())
    c = leaf(1)
    try:
        c.send(None)
        c.throw(RuntimeError("x"))
    except RuntimeError:
        check("coroutine driven by hand")


@situation
def called_from_c():
    sorted([3, 1, 2], key=lambda k: check("sorted key") or k)
    sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: check("cmp_to_key") or a - b))
    functools.reduce(lambda a, b: check("reduce") or a + b, range(3))
    re.sub("a", lambda m: check("re.sub") or "b", "aa")
    json.dumps({"a": {1}}, default=lambda o: check("json default") or 1)
    json.loads('{"a": 1}', object_hook=lambda o: check("object_hook") or o)
    collections.defaultdict(lambda: check("defaultdict"))[1]
    min([1, 2], key=lambda k: check("min key") or k)
    pickle.loads(pickle.dumps(Pickled()))
    callback = CALLBACK(lambda n: check("ctypes callback") or (free.witness_call(callback, n - 1) if n else 0))
    free.witness_call(callback, 3)
    held.witness_call(callback, 2)
    weakref.finalize(Pickled(), check, "weakref.finalize")
    r = weakref.ref(Pickled(), lambda r: check("weakref callback"))
    type("Made", (), {"__set_name__": 1, "f": Named()})
    iter(lambda: check("iter with sentinel"), None).__next__ and list(iter(lambda: check("iter with sentinel"), None))
    functools.singledispatch(lambda o: check("singledispatch"))(1)
    types.SimpleNamespace(f=lambda: check("attribute")).f()
    operator.methodcaller("klass")(Base)
    exec("check('exec')", {"check": check})


class Named:
    def __set_name__(self, owner, name):
        check("__set_name__")


class Pickled:
    def __getstate__(self):
        check("__getstate__")
        return {"a": 1}

    def __setstate__(self, state):
        check("__setstate__")


@situation
def callbacks_in_foreign_threads():
    callback = CALLBACK(lambda n: check("foreign thread") or 0)
    reasons = free.witness_foreign(callback)
    if reasons != witness.NO_THREAD_STATE * 11:
        wrong.append(("foreign thread", "reasons", reasons))


@situation
def dynamic_code():
    exec("def f():\n  check('function of exec')\n\n  check('second')\nf()", {"check": check})
    eval("check('eval')", {"check": check})
    eval(compile("(lambda:\n\n check('eval over lines'))()", "a file.py", "eval"), {"check": check})
    exec(compile("class A:\n def m(self):\n  check('names \u00e9')\nA().m()", "d\u00e9j\u00e0 \u4e2d\u6587 \U0001f600.py", "exec"),
         {"check": check})
    exec(compile("check('surrogate')", "bad\udce9name.py", "exec"), {"check": check})
    exec(compile("def \u00e9t\u00e9(): check('latin-1')\n\u00e9t\u00e9()", "f", "exec"), {"check": check})
    exec(compile("def \u4e2d\u6587(): check('two bytes')\n\u4e2d\u6587()", "f", "exec"), {"check": check})
    exec(compile("def \U00020000(): check('four bytes')\n\U00020000()", "f", "exec"), {"check": check})
    exec(compile("\n" * 70000 + "check('line 70001')\n" + "\n" * 300 + "check('line 70302')", "f", "exec"), {"check": check})
    exec(compile("x = 1\n" * 3000 + "check('long code')", "f", "exec"), {"check": check})
    # a name long and wide
    code = (lambda: check("replaced"))
    for name in "n" * 3000, "\u00e9" * 2000, "\u4e2d" * 2000, "\U0001f600" * 2000, "", "a\udc80b":
        changes = {"co_name": name}
        if hasattr(code.__code__, "co_qualname"):
            changes["co_qualname"] = name
        types.FunctionType(code.__code__.replace(**changes), globals())()
    Text = type("Text", (str,), {})
    changes = {"co_name": Text("name"), "co_filename": Text("file")}
    if hasattr(code.__code__, "co_qualname"):
        changes["co_qualname"] = Text("qualified")
    types.FunctionType(code.__code__.replace(**changes), globals())()


@situation
def imports():
    builtins.check_walk = check
    one, two = ("witness_%s_%d" % (n, threading.get_ident()) for n in ("one", "two"))
    with tempfile.TemporaryDirectory() as directory:
        for name in one, two:
            with open(os.path.join(directory, name + ".py"), "w") as f:
                f.write("check_walk('import')\n" + ("import %s\n" % two if name == one else "") +
                        "def g():\n    yield check_walk('imported generator')\nlist(g())\n")
        sys.path.insert(0, directory)
        importlib.invalidate_caches()
        try:
            importlib.reload(importlib.import_module(one))
        finally:
            sys.path.remove(directory)
            sys.modules.pop(one, None)
            sys.modules.pop(two, None)


class Dying:
    def __init__(self, other=None):
        self.other, self.me = other, None

    def __del__(self):
        check("__del__")


@situation
def destructors():
    def leaves_behind():
        d = Dying(Dying())
        return 1

    def drops():
        d = Dying()
        del d
        Dying()
        return [Dying() for _ in range(2)] and None

    leaves_behind()
    drops()
    for _ in range(3):
        d = Dying()
        d.me = d
    del d
    gc.collect()
    gc.callbacks.append(lambda phase, info: check("gc callback"))
    try:
        gc.collect()
    finally:
        gc.callbacks.pop()


@situation
def collected_while_frames_begin():
    # cells and generators are made before a frame's first line; a collection there runs destructors
    def closure(a, b, c, d):
        def inner():
            return a, b, c, d, e

        e = 1
        return inner

    def generator(a, b):
        yield lambda: (a, b)

    old = gc.get_threshold()
    for _ in range(20):
        d = Dying()
        d.me = d
        del d
        gc.set_threshold(1)
        kept = [closure(1, 2, 3, 4) for _ in range(3)], [generator(1, 2) for _ in range(3)]
        for g in kept[1]:
            next(g)
        gc.set_threshold(*old)
    gc.collect()


@situation
def exceptions():
    try:
        try:
            check("try")
            raise KeyError
        except KeyError:
            check("except")
            raise ValueError
        else:
            pass
        finally:
            check("finally")
    except ValueError as e:
        check("except as")
    with contextlib.suppress(ZeroDivisionError), contextlib.ExitStack() as stack:
        stack.callback(check, "ExitStack")
        1 / 0

    def hook(*a):
        check("unraisable or excepthook")

    sys.excepthook, old = hook, sys.excepthook
    try:
        sys.excepthook(None, None, None)
    finally:
        sys.excepthook = old
    if NEW:
        exec("match [1, {'a': 2}]:\n  case [x, {'a': y}] if not check('match guard'):\n    check('match')\n", {"check": check})
    if sys.version_info >= (3, 11):
        exec("try:\n  raise ExceptionGroup('g', [KeyError()])\nexcept* KeyError:\n  check('except*')\n", {"check": check})
    if sys.version_info >= (3, 12):
        exec("def f[T: (check('type bound') or int)](a: T) -> T: check('generic')\nf(1)\nf.__type_params__[0].__constraints__\n"
             "class G[T]:\n  check('generic class')\n", {"check": check})


@situation
def recursion():
    def down(n):
        if n == 0:
            return check("deep recursion")
        down(n - 1)

    def down_in_c(n):
        if n == 0:
            return check("deep recursion through C")
        list(map(down_in_c, [n - 1]))

    def down_in_generators(n):
        if n == 0:
            yield check("deep generators")
        else:
            yield from down_in_generators(n - 1)

    down(800)
    down_in_c(100)
    list(down_in_generators(100))


@situation
def decorators():
    def decorate(f):
        check("decorator")

        @functools.wraps(f)
        def wrapper(*a, **k):
            check("wrapper")
            return f(*a, **k)

        return wrapper

    @decorate
    @decorate
    def decorated():
        check("decorated")

    decorated()

    @dataclasses.dataclass(order=True)
    class Data:
        a: int
        b: list = dataclasses.field(default_factory=lambda: [check("default_factory")])

        def __post_init__(self):
            check("__post_init__")

    Data(1), sorted([Data(2), Data(1)])
    collections.namedtuple("N", "a b")(1, 2)


@situation
def traced():
    def tracer(frame, event, argument):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name.startswith("watched"):
            check("trace " + event)
            frame.f_trace_opcodes = (frame.f_lineno or 0) % 2 == 0
            return tracer

    def watched(n):
        x = [k for k in range(n)]
        if n:
            return watched(n - 1)
        check("function under settrace")
        list(watched_generator())
        try:
            raise KeyError
        except KeyError:
            pass

    def watched_generator():
        yield 1
        yield 2

    old = sys.gettrace()
    sys.settrace(tracer)
    try:
        watched(2)
    finally:
        sys.settrace(old)

    def profiler(frame, event, argument):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name.startswith("watched"):
            check("profile " + event)

    sys.setprofile(profiler)
    try:
        watched(2)
    finally:
        sys.setprofile(None)
    if hasattr(sys, "monitoring"):
        m, e = sys.monitoring, sys.monitoring.events
        m.use_tool_id(2, "witness")

        def on(*a):
            if a[0].co_name.startswith("watched"):
                check("monitoring")

        for event in e.LINE, e.CALL, e.INSTRUCTION, e.PY_START, e.PY_RETURN, e.PY_YIELD:
            m.register_callback(2, event, on)
        m.set_events(2, e.LINE | e.CALL | e.INSTRUCTION | e.PY_START | e.PY_RETURN | e.PY_YIELD)
        try:
            watched(1)
        finally:
            m.set_events(2, 0)
            m.free_tool_id(2)


@situation
def signals():
    if threading.current_thread() is not threading.main_thread():
        return

    def handler(number, frame):
        check("signal handler")
        if number == signal.SIGUSR1:
            os.kill(os.getpid(), signal.SIGUSR2)
            check("signal handler in a signal handler")

    old = [signal.signal(s, handler) for s in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)]
    os.kill(os.getpid(), signal.SIGUSR1)
    list(map(lambda k: os.kill(os.getpid(), signal.SIGUSR2), range(2)))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    for k in range(3000):
        Cheap(1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for s, o in zip((signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM), old):
        signal.signal(s, o)


@situation
def many_cells():
    names = ["v%d" % k for k in range(300)]
    source = "def f(%s):\n def g():\n  check('many free variables')\n  return %s\n check('many cells')\n g()\nf(*range(300))" % (
        ", ".join(names), " + ".join(names))
    exec(source, {"check": check})


def churn(stop):
    """Makes and drops code objects, so that their addresses come back while others walk."""
    kept = collections.deque(maxlen=50)
    n = 0
    while not stop.is_set():
        n += 1
        scope = {}
        exec("def f%d(a, b=%d):\n%s return a + b" % (n % 7, n, "\n" * (n % 11)), scope)
        scope["f%d" % (n % 7)](1)
        kept.append(scope)


def rounds(n):
    for _ in range(n):
        for f in situations:
            f()


def main(n):
    faulthandler.dump_traceback_later(150, exit=True)
    rounds(n)
    stop = threading.Event()
    churner = threading.Thread(target=churn, args=(stop,))
    churner.start()
    sys.setswitchinterval(0.0005)
    threads = [threading.Thread(target=rounds, args=(max(n // 4, 1),)) for _ in range(3)]
    for t in threads:
        t.start()
    rounds(max(n // 4, 1))
    for t in threads:
        t.join()
    stop.set()
    churner.join()
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(60, exit=True)
        before = len(wrong)
        rounds(1)
        os._exit(len(wrong) > before)
    if os.waitpid(child, 0)[1] != 0:
        wrong.append(("forked child", os.getpid()))
    finish("walks", 2000)


main(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
