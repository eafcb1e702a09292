"""Learns from ptxas's output what it never does.

Scoreboards: for a producer's opcode and the part a register plays, how often the first instruction that touches the
register was covered by a wait, and whether one ever was not. A single uncovered case takes the rule away.

Distances: for a pair of opcodes and the positions in both of the registers that carry a value, the smallest sum of stalls
with no wait between. It is a floor only where it was seen often, in several kernels, and where ptxas was stopped by this
pair and by nothing else: the consumer came later than its predecessor alone would make it, and no other pair into it stood
at its own smallest distance. (The low half of an address never comes closer than 9 cycles to its load because the high
half is computed between: that is no floor.)
"""

import collections

import control
import flow
import spacing
from rules import FAR, Rules

SEEN, KERNELS = 20, 3
ALONE, CONTEXTS = 5, 3  # times that a pair alone held its consumer back, in so many different sequences of opcodes


class Tally:
    """How often, and in how many kernels."""

    __slots__ = ("count", "kernels")

    def __init__(self):
        self.count, self.kernels = 0, set()

    def add(self, kernel):
        self.count += 1
        if len(self.kernels) < KERNELS:
            self.kernels.add(kernel)

    def enough(self):
        return self.count >= SEEN and len(self.kernels) >= KERNELS


class Distances:
    """The distances of one kind of pair."""

    __slots__ = ("tally", "lowest", "alone", "contexts")

    def __init__(self):
        self.tally, self.lowest, self.alone, self.contexts = Tally(), FAR, 0, set()

    def firm(self):
        return self.tally.enough() and self.alone >= ALONE and len(self.contexts) >= CONTEXTS


class Evidence:
    """Everything counted in the code of one pool of architectures."""

    def __init__(self):
        self.rules = Rules()
        self.obeyed = collections.defaultdict(Tally)
        self.broken = collections.Counter()
        self.examples = {}
        self.distances = collections.defaultdict(Distances)
        self.set_to_wait = collections.Counter()
        self.shortest_stall = {}

    def learn(self, kernels):
        """Goes over all kernels twice: what an opcode is has to be known before pairs are looked at."""
        kernels = list(kernels)
        for kernel in kernels:
            for block in kernel.blocks:
                self._count(block)
        held = [self._learn_block(kernel.name, block) for kernel in kernels for block in kernel.blocks]
        for consumers in held:
            for arrivals in consumers:
                tight = [(key, context) for key, distance, context in arrivals if distance == self.distances[key].lowest]
                if len(tight) == 1:
                    (key, context), = tight
                    self.distances[key].alone += 1
                    self.distances[key].contexts.add(context)
        self._conclude()
        spacings = spacing.Spacings()
        for number, kernel in enumerate(kernels):
            for block in kernel.blocks:
                spacings.learn(self.rules, kernel.name, block, number)
        self.rules.spacings = spacings.conclude()
        return self.rules

    def _count(self, block):
        for instruction in block:
            if instruction.write_board != control.NONE and instruction.writes:
                self.rules.variable.add(instruction.base)
                self.rules.decoupled.add(instruction.base)
            if instruction.read_board != control.NONE:
                self.rules.decoupled.add(instruction.base)
        for first, second in zip(block, block[1:]):
            if first.stall:
                one = flow.name(first.opcode)
                for key in (one, (one, flow.name(second.opcode))):
                    self.shortest_stall[key] = min(self.shortest_stall.get(key, 15), first.stall)

    def _held_back(self, names, block, consumer, producer):
        """Whether the consumer stands later than the issue rate of its predecessor explains.

        Half-rate pipes take an instruction every second cycle, so a stall of 2 behind another instruction says nothing.
        """
        before = consumer - 1
        if before == producer:
            return block[before].stall > self.shortest_stall[names[before]]
        return block[before].stall > max(2, self.shortest_stall[names[before], names[consumer]])

    def _learn_block(self, kernel, block):
        """Learns distances and scoreboards; returns, per consumer that was held back, what may have held it."""
        arrivals = collections.defaultdict(list)
        names = tuple(flow.name(i.opcode) for i in block)
        for i in range(len(block)):
            pairs = list(flow.pairs(block, i))
            for pair in pairs:
                self._learn_board(kernel, block, pair)
            for (consumer, key), pair in self.rules.timed(block, pairs).items():
                seen = self.distances[key]
                seen.tally.add(kernel)
                seen.lowest = min(seen.lowest, pair.distance)
                if self._held_back(names, block, consumer, i):
                    arrivals[consumer].append((key, pair.distance, names[max(0, i - 1) : consumer + 1]))
        return list(arrivals.values())

    def _learn_board(self, kernel, block, pair):
        key = self.rules.board_key(block, pair)
        if key is None:
            return
        covered, own = self.rules.covered(block, pair)
        if own:
            self.obeyed[key].add(kernel)
            if pair.consumer == pair.producer + 1:
                self.set_to_wait[block[pair.producer].stall] += 1
        elif not covered:
            self.broken[key] += 1
            self.examples.setdefault(key, (kernel, block[pair.producer].text, block[pair.consumer].text))

    def _conclude(self):
        rules = self.rules
        for key, tally in self.obeyed.items():
            if tally.enough():
                if not self.broken[key]:
                    rules.boards.add(key)
                if key[3] == "board":
                    # Where ptxas sets a scoreboard as a rule, and the order of a pipe protects whatever has none.
                    without = (*key[:3], "none")
                    if not self.broken[without]:
                        rules.boards.add(without)
        for key, seen in self.distances.items():
            if seen.firm():
                rules.floors[key] = (seen.lowest, seen.tally.count, seen.alone)
        rules.wait_needs_two = self.set_to_wait[1] == 0 and self.set_to_wait[2] >= SEEN
