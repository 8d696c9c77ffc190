# Situations of objects: their special methods, classes, decorators, and calls by C code.
import abc, collections, copy, dataclasses, functools, json, operator, pickle, re, types, weakref

from witness import CALLBACK, check, find, free, held, situation

find()  # class bodies below walk, too


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
    def __init__(self, n):
        if n % 40 == 0:
            check("hot class call")
        self.n = n


@situation
def hot_classes():
    for n in range(400):
        Cheap(n)


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
