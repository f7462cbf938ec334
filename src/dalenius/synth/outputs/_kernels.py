"""The swap search (Numba)."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True)
def design_row(codes, values, term_var, term_code, x):
    """One row of the design: constant, numbers, and dummies."""
    for k in range(len(term_var)):
        v = term_var[k]
        if v < 0:
            x[k] = 1.0
        elif term_code[k] < 0:
            x[k] = values[v, codes[v]]
        else:
            x[k] = 1.0 if codes[v] == term_code[k] else 0.0


@njit(cache=True)
def _mean(x, beta, logit):
    eta = 0.0
    for k in range(len(beta)):
        eta += x[k] * beta[k]
    return 1.0 / (1.0 + np.exp(-eta)) if logit else eta


@njit(cache=True)
def refresh(codes, values, term_var, term_code, beta, y_var, logit, score, information):
    """Score and information of the whole file at the target coefficients."""
    p = len(beta)
    x = np.zeros(p)
    score[:] = 0.0
    information[:, :] = 0.0
    for i in range(codes.shape[0]):
        design_row(codes[i], values, term_var, term_code, x)
        m = _mean(x, beta, logit)
        w = m * (1.0 - m) if logit else 1.0
        r = values[y_var, codes[i, y_var]] - m
        for a in range(p):
            if x[a] != 0.0:
                score[a] += x[a] * r
                for b in range(a + 1):
                    information[a, b] += w * x[a] * x[b]
    for a in range(p):
        for b in range(a):
            information[b, a] = information[a, b]


@njit(cache=True)
def _loss(inverse, score, scale):
    """Squared length of the scaled Newton step from the target to the file's own estimate."""
    total = 0.0
    for a in range(len(score)):
        step = 0.0
        for b in range(len(score)):
            step += inverse[a, b] * score[b]
        total += (scale[a] * step) ** 2
    return total


@njit(cache=True)
def _add(codes, values, term_var, term_code, beta, y_var, logit, x, score, sign):
    design_row(codes, values, term_var, term_code, x)
    r = sign * (values[y_var, codes[y_var]] - _mean(x, beta, logit))
    for k in range(len(beta)):
        score[k] += x[k] * r


@njit(cache=True)
def swap_search(
    codes, values, term_var, term_code, beta, y_var, logit, scale, movable, fixed, proposals, tolerance, rng
):
    """Swap values between records wherever that brings the estimate nearer; the number of swaps, and the loss."""
    n, p = codes.shape[0], len(beta)
    score, trial, x = np.zeros(p), np.zeros(p), np.zeros(p)
    information = np.zeros((p, p))
    refresh(codes, values, term_var, term_code, beta, y_var, logit, score, information)
    inverse = np.linalg.inv(information)
    loss = _loss(inverse, score, scale)
    accepted = 0
    for _ in range(proposals):
        if loss < tolerance:
            break
        v = movable[rng.integers(0, len(movable))]
        i, j = rng.integers(0, n), rng.integers(0, n)
        if codes[i, v] == codes[j, v]:
            continue
        kept = True
        for z in range(codes.shape[1]):
            if fixed[v, z] and codes[i, z] != codes[j, z]:
                kept = False
                break
        if not kept:
            continue
        trial[:] = score
        _add(codes[i], values, term_var, term_code, beta, y_var, logit, x, trial, -1.0)
        _add(codes[j], values, term_var, term_code, beta, y_var, logit, x, trial, -1.0)
        held = codes[i, v]
        codes[i, v] = codes[j, v]
        codes[j, v] = held
        _add(codes[i], values, term_var, term_code, beta, y_var, logit, x, trial, 1.0)
        _add(codes[j], values, term_var, term_code, beta, y_var, logit, x, trial, 1.0)
        new = _loss(inverse, trial, scale)
        if new < loss:
            loss = new
            score[:] = trial
            accepted += 1
            if accepted % 50 == 0:
                refresh(codes, values, term_var, term_code, beta, y_var, logit, score, information)
                inverse = np.linalg.inv(information)
                loss = _loss(inverse, score, scale)
        else:
            codes[j, v] = codes[i, v]
            codes[i, v] = held
    return accepted, loss
