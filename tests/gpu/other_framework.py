"""A little work in JAX or CuPy, whose pools are visible only as requests to the driver.

other_framework.py jax|cupy: prints a figure that does not depend on the machine.
"""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def with_jax():
    import jax
    import jax.numpy as jnp

    step = jax.jit(lambda a, b: jnp.tanh(a @ b).sum())
    a = jnp.ones((1024, 1024)) / 1024
    print("jax", jax.devices()[0].platform, round(float(sum(step(a, a * i) for i in range(4))), 2))


def with_cupy():
    import cupy

    a = cupy.ones((1024, 1024)) / 1024
    held = [cupy.tanh(a @ (a * i)).sum() for i in range(4)]
    print("cupy", round(float(sum(held)), 2), cupy.get_default_memory_pool().total_bytes() > 0)


if __name__ == "__main__":
    {"jax": with_jax, "cupy": with_cupy}[sys.argv[1]]()
