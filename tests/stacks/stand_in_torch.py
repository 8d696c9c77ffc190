"""Module as PyTorch has it, for jobs without PyTorch: its file, the functions that call a forward, _modules."""

SOURCE = """
class Module:
    def __init__(self):
        for name in ("training", "_parameters", "_buffers", "_forward_hooks", "_pre_hooks", "_state"):
            object.__setattr__(self, name, {})
        object.__setattr__(self, "_modules", {})

    def __setattr__(self, name, value):
        modules = self.__dict__["_modules"]
        if isinstance(value, Module):
            modules[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name != "_modules" and name in self._modules:
            return self._modules[name]
        raise AttributeError(name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        def inner():
            for hook in self._pre_hooks.values():
                hook(self)
            result = self.forward(*args, **kwargs)
            for hook in self._forward_hooks.values():
                hook(self)
            return result

        return inner()

    __call__ = _wrapped_call_impl

    def named_modules(self, prefix="", seen=None):
        seen = set() if seen is None else seen
        if id(self) not in seen:
            seen.add(id(self))
            yield prefix, self
            for name, child in self._modules.items():
                if child is not None:
                    yield from child.named_modules(prefix + ("." if prefix else "") + name, seen)
"""

FILE = "/opt/venv/lib/python3/site-packages/torch/nn/modules/module.py"


def module_class(file):
    """Module, as a class of this file."""
    names = {}
    exec(compile(SOURCE, file, "exec"), names)
    return names["Module"]


Module = module_class(FILE)


class ModuleList(Module):
    def __init__(self, modules):
        super().__init__()
        for k, module in enumerate(modules):
            self._modules[str(k)] = module

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __len__(self):
        return len(self._modules)


class Sequential(ModuleList):
    def forward(self):
        for module in self:
            module()
