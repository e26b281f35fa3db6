"""Two counters straight from their definitions.

A k-ary tree with signed digits: nodes as intervals of items, each with its sum. A square root: every normal variable
that was drawn, and the coefficients of 1 / sqrt(1 - y).
"""

import math


class SignedTree:
    """``noise`` of each node, by its first and its last item + 1, once it was needed; ``used`` after every item."""

    def __init__(self, epsilon, horizon, base):
        self.base, self.levels = base, 1
        while (base**self.levels - 1) / 2 < horizon:
            self.levels += 1
        self.scale = self.levels / epsilon
        self.items, self.noise, self.used = [], {}, []

    def nodes(self, count):
        """(sign, first, end) of the nodes that make up ``count`` items: lowest level first, last ones first."""
        found, stands = [], 0
        for level in reversed(range(self.levels)):
            width = self.base**level
            digit = math.floor((count - stands) / width + 0.5)  # the nearest; lower levels reach half a node either way
            assert abs(digit) <= (self.base - 1) // 2
            starts = range(stands, stands + digit * width, width) if digit > 0 else range(
                stands + digit * width, stands, width
            )  # fmt: skip
            found += [(1 if digit > 0 else -1, start, start + width) for start in starts]
            stands += digit * width
        assert stands == count
        return sorted(found, key=lambda node: (node[2] - node[1], -node[1]))

    def insert(self, item, draw):
        """The noisy sum with one more item; nodes that hold items to come have what has come."""
        self.items.append(item)
        nodes, total = self.nodes(len(self.items)), 0.0
        for sign, first, end in nodes:
            if (first, end) not in self.noise:
                self.noise[first, end] = draw()
            total += sign * (sum(self.items[first:end]) + self.noise[first, end])
        self.used.append(nodes)
        return total


class SquareRoots:
    """``sd`` of each normal variable; ``coefficients`` of those that were drawn so far."""

    def __init__(self, sd):
        self.sd, self.total = sd, 0.0
        self.drawn, self.coefficients = [], []

    def insert(self, item, draw):
        """The noisy sum with one more item."""
        self.total += item
        self.drawn.append(self.sd * draw())
        last = len(self.coefficients)
        self.coefficients.append(self.coefficients[-1] * (2 * last - 1) / (2 * last) if last else 1.0)
        noise = sum(f * z for f, z in zip(self.coefficients, reversed(self.drawn), strict=True))
        return self.total + noise

    def noise_sd(self):
        """Standard deviation of the noise in the present sum."""
        return self.sd * math.sqrt(sum(f**2 for f in self.coefficients))
