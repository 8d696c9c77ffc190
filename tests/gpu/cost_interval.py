"""Computes a slow-down from pairs of steps: (nanoseconds of one that is off, of one that is on).

All figures use logarithms of on / off, because noise biases the ratio itself upwards. The median's interval is
that of the sign test: it depends on order alone, for any kind of noise. The intervals of the trimmed mean (10%
at each end, Yuen) and of the plain mean are by Student's t.
"""
import math
import statistics


def student_t95(degrees):
    """Two-sided 95% quantile, to four digits from 20 degrees on (Cornish-Fisher around the normal one)."""
    z = 1.959964
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def trimmed(values, part=0.1):
    """Yuen's trimmed mean and its standard error: reduces the weight of single disturbed blocks."""
    cut = int(len(values) * part)
    ordered = sorted(values)
    kept = ordered[cut:len(ordered) - cut]
    winsorized = [min(max(v, kept[0]), kept[-1]) for v in ordered]
    error = statistics.stdev(winsorized) / ((1 - 2 * part) * math.sqrt(len(values)))
    return statistics.mean(kept), error, len(kept) - 1


def median_interval(values):
    """The median between the ends of its 95% interval, by order statistics."""
    values, n = sorted(values), len(values)
    half = 0.98 * math.sqrt(n)
    return values[max(0, int(n / 2 - half))], statistics.median(values), values[min(n - 1, int(n / 2 + half) + 1)]


def logarithms(pairs):
    return [math.log(on / off) for off, on in pairs]


def median_half_width(pairs):
    low, _, high = median_interval(logarithms(pairs))
    return (high - low) / 2


def cost_figures(pairs):
    logs = logarithms(pairs)
    low, middle, high = median_interval(logs)
    mean, error, degrees = trimmed(logs)
    half = student_t95(degrees) * error
    plain, plain_half = statistics.mean(logs), student_t95(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    shares = {"median": middle, "median_lower95": low, "median_upper95": high, "trimmed_mean": mean,
              "lower95": mean - half, "upper95": mean + half, "mean": plain, "mean_lower95": plain - plain_half,
              "mean_upper95": plain + plain_half}
    return {"pairs": len(pairs), "step_ms": statistics.median(off for off, _ in pairs) / 1e6} | {
        name: math.expm1(value) for name, value in shares.items()}


def cost_text(f):
    return (f"slow-down of a {f['step_ms']:.2f} ms step: median {f['median']:+.3%}, 95% interval "
            f"{f['median_lower95']:+.3%} to {f['median_upper95']:+.3%}; mean {f['mean']:+.3%} ({f['mean_lower95']:+.3%} "
            f"to {f['mean_upper95']:+.3%}), {f['pairs']} pairs")
