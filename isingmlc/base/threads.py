"""Threads of linear algebra."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the pools of threads that linear algebra has."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[object]:
    """Hold linear algebra to one thread: with many small matrices more only wait for each other."""
    pools = _thread_pools()
    if all(pool.num_threads == 1 for pool in pools.lib_controllers):
        return nullcontext()
    limited: AbstractContextManager[object] = pools.limit(limits=1)
    return limited
