# SPDX-License-Identifier: BSD-2-Clause
"""Figures as publications have them: slow-down by size, distributions, heat maps, bands over seeds.

Each function draws into axes that are given, or into a new figure, and returns the axes; save() leaves
a figure as SVG and PDF. Percentiles are of the nearest rank, rounded up, as everywhere in Verbena: each
is one of the values.
"""
import os
from typing import Any, Mapping, Optional, Sequence, Tuple

import numpy as np
import pandas as pd

# Sizes at which bins end, as in slowdown.csv.
SIZES = tuple(base * 10**power for power in range(3, 10) for base in (1, 2, 5))[:-2]
PERCENTILES = (50, 95, 99)


def nearest_rank(values: Any, percent: float) -> float:
    """The least of the values that at least `percent` of them are not above; NaN of no values."""
    ordered = np.sort(np.asarray(values, float))
    if len(ordered) == 0:
        return float("nan")
    # The rank is computed in thousandths of a percent: 0.95 * 20 is more than 19 as a float.
    rank = -(-round(percent * 1000) * len(ordered) // 100000)
    return float(ordered[max(rank, 1) - 1])


def slowdown_by_size(flows: pd.DataFrame, sizes: Sequence[int] = SIZES,
                     percentiles: Sequence[float] = PERCENTILES) -> pd.DataFrame:
    """Slow-down of the flows that are done, by size: a row for each bin that has flows.

    `flows` is as of Simulation.flows(), of one run or, by pandas.concat(), of several. A bin has the
    sizes above `above_bytes` up to `up_to_bytes`; the first one flows of 0 bytes as well."""
    done = flows[flows.slowdown.notna()]
    ends = np.asarray(sorted(sizes), float)
    which = np.searchsorted(ends, done["bytes"].to_numpy(float), side="left")
    rows = []
    for number in np.unique(which):
        values = done.slowdown.to_numpy(float)[which == number]
        rows.append({
            "above_bytes": ends[number - 1] if number else 0.0,
            "up_to_bytes": ends[number] if number < len(ends) else float("inf"),
            "flows": len(values),
            "mean": values.mean(),
            **{f"p{percent:g}": nearest_rank(values, percent) for percent in percentiles},
            "max": values.max(),
        })
    columns = ["above_bytes", "up_to_bytes", "flows", "mean", *(f"p{p:g}" for p in percentiles), "max"]
    return pd.DataFrame(rows, columns=columns)


def plot_slowdown(runs: Mapping[str, pd.DataFrame], percentiles: Sequence[float] = (50, 99),
                  sizes: Sequence[int] = SIZES, ax: Any = None) -> Any:
    """Slow-down over the size of flows: for each run a line for each percentile, by slowdown_by_size()."""
    ax = ax or _new_axes()
    for color, (label, flows) in zip(_colors(), runs.items()):
        table = slowdown_by_size(flows, sizes, percentiles)
        at = table.up_to_bytes.replace(np.inf, flows["bytes"].max())
        for style, percent in zip(("-", "--", ":", "-."), percentiles):
            ax.plot(at, table[f"p{percent:g}"], style, color=color, marker=".", label=f"{label}, p{percent:g}")
    ax.set(xscale="log", yscale="log", xlabel="size of flow (bytes)", ylabel="slow-down")
    _finish(ax)
    return ax


def plot_cdf(values: Mapping[str, Any], xlabel: str = "", log: bool = False, ax: Any = None) -> Any:
    """Cumulative distributions: for each label the share of values that are not above x."""
    ax = ax or _new_axes()
    for label, column in values.items():
        ordered = np.sort(pd.Series(column, dtype=float).dropna())
        if len(ordered):
            ax.step(np.concatenate([ordered[:1], ordered]), np.arange(len(ordered) + 1) / len(ordered),
                    where="post", label=label)
    ax.set(xlabel=xlabel, ylabel="share of values", ylim=(0, 1), xscale="log" if log else "linear")
    _finish(ax)
    return ax


def plot_heat(points: pd.DataFrame, x: str, y: str, value: str, label: str = "", ax: Any = None) -> Any:
    """A heat map of a sweep: the mean of column `value` for each pair of `x` and `y`, over seeds."""
    ax = ax or _new_axes()
    table = points.pivot_table(index=y, columns=x, values=value, aggfunc="mean", sort=False)
    image = ax.imshow(table.to_numpy(float), origin="lower", aspect="auto")
    ax.set_xticks(range(table.shape[1]), [str(name) for name in table.columns])
    ax.set_yticks(range(table.shape[0]), [str(name) for name in table.index])
    ax.set(xlabel=x, ylabel=y)
    middle = np.nanmean([image.norm.vmin, image.norm.vmax])
    for (row, column), number in np.ndenumerate(table.to_numpy(float)):
        if number == number:
            ax.text(column, row, f"{number:.3g}", ha="center", va="center",
                    color="black" if number > middle else "white")
    ax.figure.colorbar(image, ax=ax, label=label or value)
    return ax


def plot_bands(points: pd.DataFrame, x: str, value: str, by: Optional[str] = None, label: str = "",
               ax: Any = None) -> Any:
    """A value of a sweep over `x`: the mean over seeds, with bars from the least to the greatest; a line
    for each value of column `by`."""
    ax = ax or _new_axes()
    for name, part in points.groupby(by, sort=False) if by else [(label or value, points)]:
        groups = part.groupby(x, sort=False)[value]
        mean, least, most = groups.mean(), groups.min(), groups.max()
        ax.errorbar(mean.index, mean, yerr=[mean - least, most - mean], marker="o", capsize=3, label=str(name))
    ax.set(xlabel=x, ylabel=label or value)
    _finish(ax)
    return ax


def save(ax: Any, stem: "str | os.PathLike[str]") -> Tuple[str, str]:
    """Writes the figure of some axes, or a figure, to STEM.svg and STEM.pdf: the same bytes each time."""
    import matplotlib

    figure = getattr(ax, "figure", None) or ax
    paths = os.fspath(stem) + ".svg", os.fspath(stem) + ".pdf"
    with matplotlib.rc_context({"svg.hashsalt": "verbena", "svg.fonttype": "none", "pdf.fonttype": 42}):
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], metadata={"CreationDate": None})
    return paths


def _new_axes() -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _colors() -> Sequence[str]:
    return [f"C{number}" for number in range(10)]


def _finish(ax: Any) -> None:
    ax.grid(True, alpha=0.3)
    if ax.get_legend_handles_labels()[1]:
        ax.legend()
