# Walks in many kinds of situation, compared with sys._getframe().  walk_situations.py LIBRARY [ROUNDS]
import asyncio, builtins, collections, contextlib, gc, importlib, itertools, os, signal, sys, tempfile, threading
import traceback, types

import witness
from object_situations import Cheap
from witness import CALLBACK, check, finish, free, situation, situations, wrong

NEW = sys.version_info >= (3, 10)


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
    # of the whole process, unlike the two above
    if hasattr(sys, "monitoring") and threading.current_thread() is threading.main_thread():
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
    """Makes and drops code objects, so that their addresses are reused while others walk."""
    kept = collections.deque(maxlen=50)
    n = 0
    while not stop.is_set():
        n += 1
        scope = {}
        exec("def f%d(a, b=%d):\n%s return a + b" % (n % 7, n, "\n" * (n % 11)), scope)
        scope["f%d" % (n % 7)](1)
        kept.append(scope)


def rounds(n):
    try:
        for _ in range(n):
            for f in situations:
                f()
    except Exception:
        wrong.append(("not run to the end", traceback.format_exc()))


def main(n):
    rounds(n)
    stop = threading.Event()
    churner = threading.Thread(target=churn, args=(stop,), daemon=True)
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
        before = len(wrong)
        rounds(1)
        os._exit(len(wrong) > before)
    if os.waitpid(child, 0)[1] != 0:
        wrong.append(("forked child", os.getpid()))
    finish("walks", 2000)


main(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
