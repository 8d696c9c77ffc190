"""Judges several runs of paired_cost.py (its --json files) as one: pool_cost.py FILE... needs no GPU.

Prints each run, then all their pairs as one sample. Fails where the median or the upper end of its 95% interval
exceeds the limit. The interval is one of pairs. The spread between the runs is printed beside it, because hosts
differ more than the pairs of one host.
"""
import argparse
import json
import sys

from cost_interval import cost_figures, cost_text


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("files", nargs="+")
    p.add_argument("--limit", type=float, default=0.02, help="of the median")
    p.add_argument("--upper-limit", type=float, default=0.025, help="of the upper end of its interval")
    p.add_argument("--history", action="store_true", help="of the pairs with PyTorch's own history; judges nothing")
    return p.parse_args()


def main():
    args = parse()
    runs = []
    for name in args.files:
        with open(name) as file:
            pairs = json.load(file)["off_history_ns" if args.history else "off_on_ns"]
        if len(pairs) < 2:
            raise SystemExit(f"FAIL pooled cost: {name} has {len(pairs)} pairs")
        runs.append(pairs)
        print(f"     {name}: {cost_text(cost_figures(pairs))}")
    medians = [cost_figures(pairs)["median"] for pairs in runs]
    pooled = cost_figures([pair for pairs in runs for pair in pairs])
    is_good = args.history or pooled["median"] <= args.limit and pooled["median_upper95"] <= args.upper_limit
    print(f"{'PASS' if is_good else 'FAIL'} pooled cost of {len(runs)} runs: {cost_text(pooled)}; medians of runs "
          f"{min(medians):+.3%} to {max(medians):+.3%}"
          + ("" if args.history else f" (limits {args.limit:.1%} and {args.upper_limit:.1%})"))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
