"""Many bytes in one step: eight as a whole number whose lowest byte is the first (Lamport 1975), or 64 at once."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dalenius.core.kernels import njit

NEWLINE, RETURN, MINUS, ZERO, APOSTROPHE = 10, 13, 45, 48, 39
EACH = np.uint64(0x0101010101010101)
HIGH = np.uint64(0x8080808080808080)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
WIDE = 64
"""Bytes that are looked at in one step."""


@intrinsic
def byte_at(typing, data, at):
    """One byte of an array, as a whole number; the caller sees to it that it is there."""

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.zext(builder.load(cgutils.gep(builder, array.data, args[1])), ir.IntType(64))

    return types.int64(data, types.int64), code


@intrinsic
def eight_bytes(typing, data, at):
    """Eight bytes of an array from a place on, as one whole number; the caller sees to it that they are there."""

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = cgutils.gep(builder, array.data, args[1])
        return builder.load(builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), code


@intrinsic
def put_eight(typing, data, at, word):
    """Write eight bytes of an array from a place on; the caller sees to it that there is room."""

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = cgutils.gep(builder, array.data, args[1])
        builder.store(args[2], builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64), code


@intrinsic
def bits_below(typing, word):
    """Bits below the lowest one that is set."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@intrinsic
def bits_set(typing, word):
    """How many bits are set."""

    def code(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), code


@intrinsic
def equal_to(typing, data, at, first, second, third, fourth):
    """A bit for each of 64 bytes of an array from a place on: whether it is one of four."""

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        wide = ir.VectorType(ir.IntType(8), WIDE)
        place = builder.bitcast(cgutils.gep(builder, array.data, args[1]), wide.as_pointer())
        held = builder.load(place, align=1)
        found = None
        for sign in args[2:]:
            one = builder.insert_element(
                ir.Constant(wide, ir.Undefined),
                builder.trunc(sign, ir.IntType(8)),
                ir.Constant(ir.IntType(32), 0),
            )
            order = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
            same = builder.icmp_unsigned("==", held, builder.shuffle_vector(one, one, order))
            found = same if found is None else builder.or_(found, same)
        return builder.bitcast(found, ir.IntType(64))

    number = types.int64
    return types.uint64(data, number, number, number, number, number), code


@njit(forceinline=True)
def zero_bytes(word):
    """The high bit of every byte that is zero; bytes above the lowest of them may be marked wrongly."""
    return (word - EACH) & ~word & HIGH


@njit(forceinline=True)
def piece(body, start, size):
    """Up to eight bytes from a place on; those beyond ``size`` are 0."""
    if start + 8 <= len(body):
        word = eight_bytes(body, start)
        return word if size >= 8 else word & ~(ALL << np.uint64(8 * size))
    word = np.uint64(0)
    for i in range(min(size, 8)):
        word |= np.uint64(body[start + i]) << np.uint64(8 * i)
    return word
