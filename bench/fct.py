#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Slow-down of flows by size for each algorithm of congestion control, as publications compare them.

  PYTHONPATH=python VERBENA_SIM_LIBRARY=build/release/libverbena-sim.so bench/fct.py [OPTIONS] [FOLDER]

Poisson arrivals of web search or Hadoop sizes at several loads, over two tiers of 32 hosts at 100 Gb/s
with 400 Gb/s between switches, and over a fat tree of 128 hosts. Each point runs with several seeds. Leaves
in FOLDER (docs/images) a CSV file for each network, with percentiles of each bin of sizes as mean, least
and most over the seeds, and a figure for each network and kind of sizes, as SVG. Prints the tables of
docs/comparison.md. The same revision gives the same bytes.
"""
import argparse
import itertools
import multiprocessing
import os
import sys

import pandas as pd

import verbena

# Queues and marks as the publications scale them to 100 Gb/s: K of DCTCP is 30 kB for each 10 Gb/s, kmin
# and kmax of DCQCN 100 and 400 kB for each 25 Gb/s.
DCTCP = {"ecn": [0], "kmin": "300kB", "kmax": "301kB", "pmax": "100%"}
DCQCN = {"ecn": [0], "kmin": "400kB", "kmax": "1600kB", "pmax": "20%"}
# The fixed window is the bandwidth-delay product of the longest way; swift-160 begins with it, as hpcc does.
ALGORITHMS = {
    "hpcc": ({}, {"algorithm": "hpcc"}),
    "swift": ({}, {"algorithm": "swift"}),
    "timely": ({}, {"algorithm": "timely"}),
    "dctcp": (DCTCP, {"algorithm": "dctcp"}),
    "dcqcn": (DCQCN, "paper"),
    "fixed": ({}, {"algorithm": "fixed", "window": "160kB"}),
    "swift-160": ({}, {"algorithm": "swift", "initial-window": 160}),
    "none": ({}, "off"),
}
CABLE = {"rate": "100Gbps", "delay": "1us"}
NETWORKS = {
    "clos": {"shape": "clos", "leaves": 4, "spines": 2, "hosts": 8, "cable": CABLE,
             "fabric": {"rate": "400Gbps", "delay": "1us"}},
    "fat-tree": {"shape": "fat-tree", "k": 8, "cable": CABLE},
}
SIZES = ("websearch", "hadoop")
BINS = (1_000, 10_000, 100_000, 1_000_000)
PERCENTILES = (50, 95, 99)
KEYS = ["network", "sizes", "load", "algorithm"]


def scenario(network, sizes, load, algorithm, count, seed):
    switch, congestion = ALGORITHMS[algorithm]
    return {
        "seed": seed,
        "topology": NETWORKS[network],
        "switch": {"buffer": "32MB", "lossless": [0], "headroom": "200kB", **switch},
        "transport": {"mtu": 1024, "traffic-class": 0, "depth": 4, "congestion": congestion},
        "workload": [{"shape": "poisson", "sizes": sizes, "load": f"{load}%", "count": count}],
    }


def run_point(point):
    """The rows of one run: one for each bin of sizes, and one of all flows with what the queues did."""
    *key, count, seed = point
    with verbena.Simulation(scenario(*key, count, seed)) as simulation:
        flows, ports, summary = simulation.run().flows(), simulation.ports(), simulation.summary()
    if summary["failed"] or summary["running"]:
        raise RuntimeError(f"{point}: {summary['failed']} flows failed, {summary['running']} did not end")
    common = {**dict(zip(KEYS, key)), "seed": seed}
    table = verbena.slowdown_by_size(flows, BINS, PERCENTILES)
    rows = [{**common, **row} for row in table.to_dict("records")]
    rows.append({**common, "above_bytes": 0.0, "up_to_bytes": float("inf"), "flows": len(flows),
                 **{f"p{p}": verbena.nearest_rank(flows.slowdown, p) for p in PERCENTILES},
                 "queue_mean": ports.queue_mean_bytes[ports["to"] < hosts_of(key[0])].mean(),
                 "queue_max": float(ports.queue_max_bytes.max()), "pauses": summary["pauses"]})
    return rows


def hosts_of(network):
    shape = NETWORKS[network]
    return shape["leaves"] * shape["hosts"] if "leaves" in shape else shape["k"] ** 3 // 4


def over_seeds(rows):
    """A row for each point and bin: mean, least and most over the seeds of each value."""
    values = [f"p{p}" for p in PERCENTILES] + ["queue_mean", "queue_max", "pauses"]
    groups = rows.groupby(KEYS + ["above_bytes", "up_to_bytes"], sort=False)
    parts = [groups[values].agg(how).add_suffix(f"_{how}") for how in ("mean", "min", "max")]
    return pd.concat([groups[["flows"]].sum(), *parts], axis=1).reset_index()


def cell(row, name, form):
    return f"{row[name + '_mean']:{form}} ({row[name + '_min']:{form}} to {row[name + '_max']:{form}})"


def print_tables(table, load):
    """Of each network and kind of sizes at one load: short flows, long ones, and queues."""
    for (network, sizes), part in table[table.load == load].groupby(["network", "sizes"], sort=False):
        print(f"\n| {network}, {sizes}, {load} % | 1 to 10 kB, p50 | p95 | p99 | above 1 MB, p50 | p99 "
              "| mean queue at hosts, kB | longest, kB | pauses |\n|---|---|---|---|---|---|---|---|---|")
        for algorithm, own in part.groupby("algorithm", sort=False):
            short = own[own.up_to_bytes == 10_000]
            whole = own[(own.up_to_bytes == float("inf")) & (own.above_bytes == 0)].iloc[0]
            long = own[own.above_bytes == 1_000_000]
            tails = [cell(rows.iloc[0], f"p{p}", ".2f") if len(rows) else ""
                     for rows, percentiles in ((short, PERCENTILES), (long, (50, 99))) for p in percentiles]
            queues = whole.filter(like="queue") / 1000
            print(f"| {algorithm} | " + " | ".join(
                tails + [cell(queues, name, ".1f" if name == "queue_mean" else ".0f")
                 for name in ("queue_mean", "queue_max")] + [f"{whole.pauses_mean:.0f}"]) + " |")


def draw(table, folder):
    import matplotlib
    matplotlib.use("agg")
    from matplotlib import pyplot

    for (network, sizes), part in table.groupby(["network", "sizes"], sort=False):
        loads = list(part.load.unique())
        figure, axes = pyplot.subplots(1, len(loads), figsize=(4 * len(loads), 3.6), sharey=True, squeeze=False)
        for ax, load in zip(axes[0], loads):
            for algorithm, own in part[part.load == load].groupby("algorithm", sort=False):
                own = own[~((own.above_bytes == 0) & (own.up_to_bytes == float("inf")))].sort_values("above_bytes")
                at = own.up_to_bytes.replace(float("inf"), 10 * BINS[-1])
                ax.errorbar(at, own.p99_mean, yerr=[own.p99_mean - own.p99_min, own.p99_max - own.p99_mean],
                            marker=".", capsize=2, linewidth=1, label=algorithm)
            ax.set(xscale="log", yscale="log", xlabel="size of flow up to (bytes)", title=f"load {load} %")
        axes[0][0].set_ylabel("slow-down, p99")
        axes[0][-1].legend(fontsize=7)
        figure.tight_layout()
        with matplotlib.rc_context({"svg.hashsalt": "verbena", "svg.fonttype": "none"}):
            figure.savefig(os.path.join(folder, f"fct-{network}-{sizes}.svg"), metadata={"Date": None})
        pyplot.close(figure)


def names_in(known):
    def names(text):
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f'"{name}" is none of {", ".join(known)}')
        return text.split(",")
    return names


def count_of(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no whole number from 1 on')
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", nargs="?", default="docs/images")
    for name, known in (("networks", NETWORKS), ("sizes", SIZES), ("algorithms", ALGORITHMS)):
        parser.add_argument("--" + name, type=names_in(known), default=list(known), help=",".join(known))
    parser.add_argument("--loads", type=lambda text: [count_of(load) for load in text.split(",")], default=[50, 70, 80],
                        help="percent: 50,70,80")
    parser.add_argument("--seeds", type=count_of, default=3)
    parser.add_argument("--per-host", type=count_of, default=12, help="flows of web search; five times as many of Hadoop")
    parser.add_argument("--processes", type=count_of, default=os.cpu_count())
    args = parser.parse_args()
    points = [(*key, args.per_host * hosts_of(key[0]) * (5 if key[1] == "hadoop" else 1), seed)
              for key in itertools.product(args.networks, args.sizes, args.loads, args.algorithms)
              for seed in range(1, args.seeds + 1)]
    rows = []
    with multiprocessing.get_context("fork").Pool(args.processes) as pool:
        for number, part in enumerate(pool.imap(run_point, points, chunksize=1), 1):
            rows += part
            print(f"\r{number} of {len(points)} runs", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    table = over_seeds(pd.DataFrame(rows))
    os.makedirs(args.folder, exist_ok=True)
    for network, part in table.groupby("network", sort=False):
        part.to_csv(os.path.join(args.folder, f"fct-{network}.csv"), index=False, float_format="%.4g")
    draw(table, args.folder)
    for load in args.loads:
        print_tables(table, load)


if __name__ == "__main__":
    main()
