"""Arrays of any library: what is needed beyond the array API standard.

Whatever has an entry per row of the data is an array of the data's library, on its
device; whatever has an entry per feature is a NumPy array. `host` and `like` bring an
array from one side to the other. For NumPy arrays NumPy is called directly, which is
quicker than the compatibility layer.
"""

from __future__ import annotations

import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol

import array_api_compat
import numpy as np
import scipy.sparse as sp

#: A float64 as bytes, in the order of the machine.
_PACKED = struct.Struct("=d")


class Array(Protocol):
    """An array of NumPy or of another library, such as CuPy or PyTorch.

    These are the operations that the code uses on arrays whose library it does not
    know; anything else goes through `namespace` and the functions below.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> object: ...
    @property
    def T(self) -> Array: ...
    def __getitem__(self, key, /) -> Array: ...
    def __setitem__(self, key, value, /) -> None: ...
    def __add__(self, other, /) -> Array: ...
    def __sub__(self, other, /) -> Array: ...
    def __mul__(self, other, /) -> Array: ...
    def __rmul__(self, other, /) -> Array: ...
    def __matmul__(self, other, /) -> Array: ...
    def __and__(self, other, /) -> Array: ...
    def __or__(self, other, /) -> Array: ...
    def __invert__(self) -> Array: ...
    def __abs__(self) -> Array: ...


def is_dask(data) -> bool:
    """Whether this is a Dask collection, an array or a frame."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_foreign(array) -> bool:
    """Whether this is an array of a library other than NumPy.

    Dask's arrays are not among them: they are collections of chunks here.
    """
    if isinstance(array, np.ndarray) or is_dask(array):
        return False
    return bool(array_api_compat.is_array_api_obj(array))


def namespace(array) -> ModuleType:
    """The module with the functions for this array, as the array API names them."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    return array_api_compat.array_namespace(array)


def host(array) -> np.ndarray:
    """Any array as a dense NumPy array; NumPy's own are not copied."""
    if isinstance(array, np.ndarray | np.generic):
        return np.asarray(array)
    if sp.issparse(array):
        return array.toarray()
    if array_api_compat.is_torch_array(array) or array_api_compat.is_cupy_array(array):
        array = array_api_compat.to_device(array, "cpu")
    elif is_foreign(array) and hasattr(namespace(array), "Device"):  # array-api-strict
        array = array.to_device(namespace(array).Device("CPU_DEVICE"))
    return np.asarray(array)


def like(array, other):
    """Bring an array to the namespace and the device of `other`."""
    if is_foreign(array):
        same = namespace(array) is namespace(other)
        if same and array_api_compat.device(array) == array_api_compat.device(other):
            return array
        array = host(array)
    if isinstance(other, np.ndarray):
        return array
    return namespace(other).asarray(array, device=array_api_compat.device(other))


def float64(array):
    """The array in float64; the same object if it is that already."""
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def floats(*numbers) -> list[float]:
    """Numbers as Python's floats; those on a device come in one transfer."""
    if isinstance(numbers[0], np.generic | float):
        return [float(number) for number in numbers]
    return host(namespace(numbers[0]).stack(numbers)).tolist()


def concat(parts: list):
    """Vectors, matrices or sparse matrices one below the other."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return namespace(parts[0]).concat(parts)


def fill(other, shape, value: float):
    """A float64 array of one value, of the library and on the device of `other`."""
    if isinstance(other, np.ndarray) and not value:
        return np.zeros(shape)  # of memory that is touched when it is written to
    xp = namespace(other)
    device = array_api_compat.device(other)
    return xp.full(shape, value, dtype=xp.float64, device=device)


def constant(value: float, n: int) -> np.ndarray:
    """A number n times, in the memory of one: `np.broadcast_to` in a sixth of its time.

    It cannot be written to.
    """
    return np.ndarray((n,), np.float64, _PACKED.pack(value), strides=(0,))


def ones(other):
    """A one for each entry of a vector, like it; in NumPy they take no memory."""
    if isinstance(other, np.ndarray):
        return constant(1.0, other.shape[0])
    return fill(other, other.shape, 1.0)


def counting(other):
    """0, 1, … for each entry of a vector, in float64 and like it."""
    xp, device = namespace(other), array_api_compat.device(other)
    return xp.arange(other.shape[0], dtype=xp.float64, device=device)


def at_least(low: float, array):
    """max(low, array), entry by entry."""
    if isinstance(array, np.ndarray):
        return np.maximum(low, array)
    return namespace(array).clip(array, low, None)


def pick(array, J):
    """The rows J: a slice, or indices of the same library as the array."""
    if isinstance(J, slice):
        return array[J, ...] if is_foreign(array) else array[J]
    if is_foreign(array):
        return namespace(array).take(array, J, axis=0)
    return array[J]


def masked(mask, array):
    """The entries of a finite vector where a mask is true, and 0 elsewhere."""
    if isinstance(array, np.ndarray):
        return mask * array  # in a fourth of the time of np.where
    return namespace(array).where(mask, array, 0.0)


def largest(array) -> float:
    """The largest entry of a vector; 0 if it is empty."""
    if isinstance(array, np.ndarray):
        return float(np.maximum.reduce(array, initial=0.0))
    return float(namespace(array).max(array)) if array.shape[0] else 0.0


def extremes(array) -> tuple:
    """The least and the largest entry, numbers of the array's library."""
    if isinstance(array, np.ndarray):  # argmin takes half of the time of min
        return array.item(array.argmin()), array.item(array.argmax())
    xp = namespace(array)
    return xp.min(array), xp.max(array)


def by_columns(array):
    """A NumPy matrix stored by columns, whose rows are scaled in half of the time.

    Matrices of other libraries stay as they are.
    """
    return array if is_foreign(array) else np.asfortranarray(array)


def quantile(array, share: float) -> float:
    """The value below which a share of the entries lies."""
    if isinstance(array, np.ndarray):
        return float(np.quantile(array, share))
    ordered = namespace(array).sort(array)
    return float(ordered[min(int(share * array.shape[0]), array.shape[0] - 1)])


def scatter(array, J, values) -> None:
    """Write array[J] = values, an array or one value, in place."""
    try:
        array[J] = values
    except IndexError:  # the standard allows to write through masks only
        mask = np.zeros(array.shape[0], dtype=bool)
        mask[host(J)] = True
        if is_foreign(values):
            xp = namespace(values)
            values = xp.take(values, xp.argsort(J), axis=0)
        array[like(mask, array)] = values


@contextmanager
def quietly(message: str = "") -> Iterator[None]:
    """Ignore warnings of other libraries that begin with `message`; by default all.

    Filters belong to all threads of a program, so only the main thread sets them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message)
        yield


def doubles(values: np.ndarray) -> np.ndarray:
    """Numbers as compiled code reads them: float64, one after the other."""
    return np.ascontiguousarray(values, dtype=np.float64)
