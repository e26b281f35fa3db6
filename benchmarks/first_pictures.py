"""Make ``presets/first-pictures.sqlite`` anew: what pages play before a visitor touches anything.

``python -m benchmarks.first_pictures`` opens all pages and all steps of the course as a first visitor does, computes
what they ask for (a minute or two, and compiling), and writes the blocks that were asked for. Needed after a
change of what a page shows at first, and where ``python -m benchmarks.shipped`` finds other numbers; until then the lab
computes what the file lacks.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from streamlit.testing.v1 import AppTest

from bandit_core import paths, simulate
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Block
from bandit_core.simulation import bundled_results
from bandit_core.simulation.prepared import key_here
from bandit_core.simulation.store import Store, default_store
from benchmarks.shipped import write

MAX_LOOKS = 20  # at a page whose studies follow one another


@dataclass(frozen=True)
class Asked(bundled_results.Beforehand):
    """Stands for the file that is to be made: has nothing, and notes what it is asked for."""

    lines: dict[str, tuple[Experiment, int]] = field(default_factory=dict)  # with the most trials, by key

    def get(self, key: str, experiment: Experiment, number: int) -> Block | None:
        """Nothing."""
        if key not in self.lines or self.lines[key][0].trials < experiment.trials:
            self.lines[key] = experiment, number
        return None


def visit(page: str, **address: str) -> None:
    """Open a page and wait for all that begins by itself."""
    screen = AppTest.from_file(str(paths.ROOT / "app.py"), default_timeout=600)
    for name, value in address.items():
        screen.query_params[name] = value
    if page != "home":
        screen.switch_page(f"pages/{page}.py")
    for _ in range(MAX_LOOKS):
        screen.run()
        assert not screen.exception, screen.exception[0].stack_trace
        runs = [value for name, value in screen.session_state.to_dict().items() if name.startswith("run-")]
        working = [run for run in runs if run is not None and run.alive]
        if not working:
            return
        for run in working:
            run.thread.join()


def blocks(store: Store, asked: dict[str, tuple[Experiment, int]]) -> Iterator[tuple[str, Experiment, Block]]:
    """What the store holds of the lines, each as one block from the first trial to where there is no next one."""
    for key, (experiment, number) in asked.items():
        reached, found = 0, []
        for first, block in store.get(key_here(key), experiment.trials):
            if first == reached:
                found.append(block)
                reached += block.trials
        if found:
            names = found[0].arrays
            whole = Block(**{name: np.concatenate([block.arrays[name] for block in found]) for name in names})
            yield key, question(experiment, number).with_changes(trials=reached), whole


def question(experiment: Experiment, number: int) -> Experiment:
    """One line of an experiment, without what changes no number."""
    line = {name: value for name, value in experiment.spec()["lines"][number].items() if name != "label"}
    return experiment.with_changes(lines=[line], title="", note="", view={})


def main() -> None:
    """Open the pages, write the file, tell its size."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    import ui.runner  # noqa: F401 - opens the file that ships, which `asked` then stands for
    from ui import menu, runner
    from ui.learn.course import STEPS, named

    runner.FORGOTTEN_SECONDS = math.inf  # no one looks while these runs go on
    store = default_store()
    store.bundled_results = asked = Asked(bundled_results.FILE, "")
    for page in menu.pages():
        visit(page.name)
    visit("explore", preset="with-bounds")
    for number in range(1, len(STEPS) + 1):
        visit("learn", step=str(number))
    price = named("price")
    simulate(price.experiment(price.slider.start))  # too long for one core to play at a press
    assert asked.lines, "no page asked for its first picture"
    written = list(blocks(store, asked.lines))
    write(bundled_results.FILE, written)
    print(f"{len(written)} of {len(asked.lines)} lines, {bundled_results.FILE.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LAB_CACHE_DIR"] = folder  # an empty store: what it had already it would not ask for
        main()
