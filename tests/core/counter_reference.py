"""A k-ary tree with signed digits, straight from its definition: nodes as intervals of items, each with its sum."""

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
