"""The loops of `text.pieces`: lines cut by rules, pieces found in a hash table.

Shape legend: N bytes of text, L lines, D different pieces, R running pieces.
"""

import numpy as np

from langladder.compiled import njit
from langladder.text.character_kernels import SPACE, WIDE, decoded

APOSTROPHE, BLANK = 39, 32


@njit()
def run_end(text: np.ndarray, place: int, end: int, table: np.ndarray, kind: int) -> int:
    """Where the characters of one class end, from `place` on."""
    while place < end:
        point, after = decoded(text, place)
        if table[point] != kind:
            break
        place = after
    return place


@njit()
def byte_level_end(text: np.ndarray, place: int, end: int, table: np.ndarray) -> int:
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    point, after = decoded(text, place)
    if point == APOSTROPHE and after < end:
        one = text[after]
        if one == 115 or one == 116 or one == 109 or one == 100:  # s t m d
            return after + 1
        two = text[after + 1] if after + 1 < end else 0
        if (two == 101 and (one == 114 or one == 118)) or (one == 108 and two == 108):  # re ve ll
            return after + 2
    kind = table[point]
    if point == BLANK and after < end:
        following, behind = decoded(text, after)
        if table[following] != SPACE:
            return run_end(text, behind, end, table, table[following])
    if kind != SPACE:
        return run_end(text, after, end, table, kind)
    last = place  # white space: the last of several goes with what follows
    while after < end:
        point, behind = decoded(text, after)
        if table[point] != SPACE:
            break
        last, after = after, behind
    return after if after == end or last == place else last


@njit()
def piece_end(text: np.ndarray, place: int, end: int, table: np.ndarray, rule: int) -> int:
    """Where the piece that begins at `place` ends."""
    if rule == 0:
        return byte_level_end(text, place, end, table)
    _, after = decoded(text, place)
    if rule == 3:
        return after
    while after < end:  # words: up to white space; spaces: up to the next space
        point, behind = decoded(text, after)
        if table[point] == SPACE:
            break
        after = behind
    return after


@njit()
def hashed(text: np.ndarray, begin: int, end: int) -> int:
    """FNV-1a of some bytes, its bits mixed once more: 64 bits, the highest 0."""
    value = np.uint64(0xCBF29CE484222325)
    for place in range(begin, end):
        value = (value ^ np.uint64(text[place])) * np.uint64(0x100000001B3)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return int(WIDE((value ^ (value >> np.uint64(32))) >> np.uint64(1)))


@njit()
def table_of(hashes: np.ndarray, size: int, slots: int) -> np.ndarray:
    """A hash table of so many slots (a power of 2) for the first pieces: their numbers + 1, (slots,) int32."""
    table = np.zeros(slots, dtype=np.int32)
    for number in range(size):
        slot = hashes[number] & (slots - 1)
        while table[slot] != 0:
            slot = (slot + 1) & (slots - 1)
        table[slot] = number + 1
    return table


@njit()
def find(
    text: np.ndarray,
    begin: int,
    end: int,
    value: int,
    slots: np.ndarray,
    hashes: np.ndarray,
    bounds: np.ndarray,
    known: np.ndarray,
) -> int:
    """The number of a piece that hashes to `value`; −1 − its slot where there is none."""
    mask = len(slots) - 1
    slot = value & mask
    while slots[slot] != 0:
        number = slots[slot] - 1
        if hashes[number] == value:
            first = bounds[number]
            if bounds[number + 1] - first == end - begin:
                same = True
                for place in range(end - begin):
                    if known[first + place] != text[begin + place]:
                        same = False
                        break
                if same:
                    return int(number)
        slot = (slot + 1) & mask
    return -1 - slot


@njit()
def find_all(
    text: np.ndarray, lines: np.ndarray, slots: np.ndarray, hashes: np.ndarray, bounds: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """The numbers of lines that are one piece each, (L,) int32; −1 where there is none."""
    numbers = np.empty(len(lines) - 1, dtype=np.int32)
    for line in range(len(lines) - 1):
        value = hashed(text, lines[line], lines[line + 1])
        numbers[line] = max(-1, find(text, lines[line], lines[line + 1], value, slots, hashes, bounds, known))
    return numbers


@njit()
def hashes_of(text: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """The hash of each line, (L,) int64."""
    values = np.empty(len(lines) - 1, dtype=np.int64)
    for line in range(len(values)):
        values[line] = hashed(text, lines[line], lines[line + 1])
    return values


@njit()
def put(
    text: np.ndarray,
    begin: int,
    end: int,
    value: int,
    slot: int,
    size: int,
    slots: np.ndarray,
    hashes: np.ndarray,
    bounds: np.ndarray,
    known: np.ndarray,
) -> bool:
    """Give a new piece the number `size`. Returns whether there was room."""
    first = bounds[size]
    if size == len(hashes) or first + end - begin > len(known):
        return False
    for place in range(end - begin):
        known[first + place] = text[begin + place]
    hashes[size], bounds[size + 1] = value, first + end - begin
    slots[slot] = size + 1
    return True


@njit()
def cut_and_number(
    text: np.ndarray,
    lines: np.ndarray,
    table: np.ndarray,
    rule: int,
    slots: np.ndarray,
    hashes: np.ndarray,
    bounds: np.ndarray,
    known: np.ndarray,
    counts: np.ndarray,
    numbers: np.ndarray,
    ends: np.ndarray,
    state: np.ndarray,
) -> bool:
    """Cut lines into pieces, number and count these.

    Args:
        lines: (L + 1,) bounds of the lines. numbers: (≥ R,) int32, filled. ends: (L,) int64, filled: where the pieces
        of each line end. state: (4,) the next line, where in it, R so far, D so far; changed.

    Returns:
        Whether all is done; else there must be room for more pieces, and this be called again.
    """
    line, place, written, size = state[0], state[1], state[2], state[3]
    while line < len(lines) - 1:
        end = lines[line + 1]
        place = max(place, lines[line])
        while place < end:
            if rule == 1:
                place = run_end(text, place, end, table, SPACE)
                if place == end:
                    break
            after = piece_end(text, place, end, table, rule)
            value = hashed(text, place, after)
            number = find(text, place, after, value, slots, hashes, bounds, known)
            if number < 0:
                if not put(text, place, after, value, -1 - number, size, slots, hashes, bounds, known):
                    state[0], state[1], state[2], state[3] = line, place, written, size
                    return False
                number = size
                size += 1
            counts[number] += 1
            numbers[written] = number
            written += 1
            place = after
        ends[line] = written
        line += 1
    state[0], state[1], state[2], state[3] = line, place, written, size
    return True


@njit()
def number_all(
    text: np.ndarray,
    lines: np.ndarray,
    weights: np.ndarray,
    slots: np.ndarray,
    hashes: np.ndarray,
    bounds: np.ndarray,
    known: np.ndarray,
    counts: np.ndarray,
    numbers: np.ndarray,
    state: np.ndarray,
) -> bool:
    """As `cut_and_number`, where a line is one piece that occurs `weights` times; state: (2,) next line, D so far."""
    line, size = state[0], state[1]
    while line < len(lines) - 1:
        begin, end = lines[line], lines[line + 1]
        value = hashed(text, begin, end)
        number = find(text, begin, end, value, slots, hashes, bounds, known)
        if number < 0:
            if not put(text, begin, end, value, -1 - number, size, slots, hashes, bounds, known):
                state[0], state[1] = line, size
                return False
            number = size
            size += 1
        counts[number] += weights[line]
        numbers[line] = number
        line += 1
    state[0], state[1] = line, size
    return True


@njit()
def expanded(
    numbers: np.ndarray, ends: np.ndarray, ids: np.ndarray, bounds: np.ndarray, first: int, last: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lines of numbered pieces → (…,) int32 ids, and (L,) int64 how many each line has.

    Args:
        numbers: (R,), ends: (L,) as `cut_and_number` leaves them. ids, bounds: those of piece n are
        `ids[bounds[n] : bounds[n + 1]]`. first, last: put before and after each line; −1: nothing.
    """
    around = (first >= 0) + (last >= 0)
    lengths = np.empty(len(ends), dtype=np.int64)
    begin, total = 0, 0
    for line in range(len(ends)):
        length = 0
        for place in range(begin, ends[line]):
            length += bounds[numbers[place] + 1] - bounds[numbers[place]]
        lengths[line] = length + around
        total += length + around
        begin = ends[line]
    found = np.empty(total, dtype=np.int32)
    begin, write = 0, 0
    for line in range(len(ends)):
        if first >= 0:
            found[write] = first
            write += 1
        for place in range(begin, ends[line]):
            for read in range(bounds[numbers[place]], bounds[numbers[place] + 1]):
                found[write] = ids[read]
                write += 1
        if last >= 0:
            found[write] = last
            write += 1
        begin = ends[line]
    return found, lengths
