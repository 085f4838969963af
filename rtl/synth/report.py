"""Tables from the areas and delays that silicon.py measured."""

TILE_ROWS, TILE_COLUMNS, TILES, TRANSPOSERS = 4, 4, 16, 15  # [TensorDash Table 2; 15 transposers of the modelled chip]
# [TensorDash Table 3, in mm2, and §4.4 for bfloat16]
PAPER = {"cores": 30.41, "transposers": 0.38, "schedulers_b_muxes": 0.91, "a_muxes": 1.73, "ratio_fp32": 1.09, "ratio_bf16": 1.13}
ANT_ADDED_MM2 = 0.0017  # [ANT abstract], 16 nm


def table(title, header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    def line(row):
        return "  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
    return "\n".join([title, line(header), "  ".join("-" * w for w in widths), *[line(row) for row in rows], ""])


def chip(area, kind):
    """Areas of the chip's parts in um2, for FP32 or bfloat16."""
    pes, rows = TILE_ROWS * TILE_COLUMNS, TILE_ROWS
    mux, scheduler = area[f"mux_{kind}"], area["scheduler"]
    rest_of_row = area[f"row_frontend_{kind}"] - mux - scheduler
    one_row = area[f"staging1_{kind}"]
    return {
        "cores": TILES * (pes * area[f"pe_base_{kind}"] + (TILE_ROWS + TILE_COLUMNS) * one_row),
        "transposers": TRANSPOSERS * area[f"transposer_{kind}"],
        "schedulers_b_muxes": TILES * rows * (scheduler + mux),
        "a_muxes": TILES * pes * mux,
        # The baseline stages one row per operand; what TensorDash stages beyond that.
        "staging": TILES * (rows * (rest_of_row - one_row) + TILE_COLUMNS * (area[f"staging3_{kind}"] - one_row)
                            + area["window_ctrl"]),
    }


def ratios(parts):
    base = parts["cores"] + parts["transposers"]
    muxes = parts["schedulers_b_muxes"] + parts["a_muxes"]
    return (base + muxes) / base, (base + muxes + parts["staging"]) / base


def growth_of(results, area, delay):
    """Scheduler and multiplexers of every connectivity, and how far the law `so much per input`, which the model's area
    follows (table rtl-osu018), is from them."""
    growth = []
    per_choice = area["scheduler"] / 128
    per_input = area["mux_fp32"] / 128
    for name, r in results.items():
        if r["top"] != "td_scheduler":
            continue
        mux = "mux_fp32" if name == "scheduler" else name.replace("scheduler", "mux")
        inputs = r["size"]["Lanes"] * r["size"]["Moves"]
        measured = r["area_um2"] + area[mux]
        growth.append({"name": r["connectivity"], **r["size"], "scheduler_um2": r["area_um2"], "scheduler_ns": r["delay_ns"],
                       "mux_um2": area[mux], "mux_ns": delay[mux],
                       "law_error": round(inputs * (per_choice + per_input) / measured - 1, 3)})
    return sorted(growth, key=lambda g: (g["Lanes"], g["Depth"], g["Moves"]))


def switching_table(switching):
    rows = [(use.replace("_", " "), f"{u['pj']:,.1f}", f"{u['pj_at_10_percent']:,.1f}") for use, u in switching["uses"].items()]
    return table(f"Energy per cycle at 0.18 um and 1.8 V, with the switching of {switching['operation']}",
                 ("module in use", "pJ", "pJ if every tenth net switched"), rows)


def report(results, library, scaling, quick, switching=None):
    fo4_ns = library.fo4
    area = {name: r["area_um2"] for name, r in results.items()}
    delay = {name: r["delay_ns"] for name, r in results.items()}
    text, out = [], {"library": library.name, "fo4_ns": round(fo4_ns, 4), "modules": results, "scaling": scaling}
    rows = [(n, f"{r['area_um2']:,.0f}", f"{r['cells']:,}", f"{r['delay_ns']:.2f}" if r["delay_ns"] else "-",
             f"{r['delay_ns'] / fo4_ns:.0f}" if r["delay_ns"] else "-", f"{r['cpu_seconds']:.1f}") for n, r in sorted(results.items())]
    rows.append(("all", "", "", "", "", f"{sum(r['cpu_seconds'] for r in results.values()):.0f}"))
    text.append(table(f"Modules on {library.name}, synthesised by Yosys and ABC, delays by OpenSTA",
                      ("module", "area um2", "cells", "delay ns", "FO4", "CPU s"), rows))
    # 500 MHz at 65 nm, in gate delays.
    cycle_fo4 = 2.0 / (fo4_ns * scaling["65nm"]["delay"])
    schedule = delay["scheduler"] + delay["mux_fp32"]
    fits = {"fo4_ps": round(fo4_ns * 1000, 1), "cycle_fo4_500mhz_65nm": round(cycle_fo4, 1),
            "scheduler_fo4": round(delay["scheduler"] / fo4_ns, 1), "scheduler_share": round(delay["scheduler"] / fo4_ns / cycle_fo4, 3),
            "scheduler_and_mux_share": round(schedule / fo4_ns / cycle_fo4, 3)}
    out["timing"] = fits
    text.append(
        f"The scheduler takes {delay['scheduler']:.2f} ns = {fits['scheduler_fo4']} FO4 ({fits['fo4_ps']} ps each here). A cycle of "
        f"500 MHz at 65 nm is\nabout {fits['cycle_fo4_500mhz_65nm']} FO4 after scaling: the scheduler takes "
        f"{100 * fits['scheduler_share']:.0f} % of it, with the multiplexers {100 * fits['scheduler_and_mux_share']:.0f} %.\n")
    if quick:
        out["text"] = "\n".join(text)
        return out
    out["chip"] = {}
    for kind, name in (("fp32", "FP32"), ("bf16", "bfloat16")):
        parts = chip(area, kind)
        listed, whole = ratios(parts)
        total = parts["cores"] + parts["transposers"]
        out["chip"][kind] = {"parts_um2": parts, "ratio_as_table3": round(listed, 4), "ratio_with_staging": round(whole, 4)}
        paper_total = PAPER["cores"] + PAPER["transposers"]
        rows = [(k.replace("_", " "), f"{v / 1e6:,.1f}", f"{100 * v / total:.2f} %",
                 f"{100 * PAPER[k] / paper_total:.2f} %" if kind == "fp32" and k in PAPER else "-") for k, v in parts.items()]
        rows.append(("multiplexers, schedulers", "", f"{listed:.3f}x", f"{PAPER['ratio_' + kind]}x"))
        rows.append(("and staging, control", "", f"{whole:.3f}x", "not given"))
        # A scheduler and multiplexers for both operands in each PE instead.
        both = 1 + TILES * TILE_ROWS * TILE_COLUMNS * (area["scheduler"] + 2 * area[f"mux_{kind}"]) / total
        out["chip"][kind]["ratio_both_sides"] = round(both, 4)
        rows.append(("zeros of both operands", "", f"{both:.3f}x", "not given"))
        text.append(table(f"Chip of {TILES} tiles, {name}: share of the baseline's area", ("part", "mm2", "here", "paper"), rows))
    added = area["ant_pe"] - area["scnn_pe"]
    scaled = added * scaling["16nm"]["area"] / 1e6
    logic = area["scnn_pe"] + area["accumulators"]
    out["ant"] = {"pe_um2": area["ant_pe"], "scnn_pe_um2": area["scnn_pe"], "accumulators_um2": area["accumulators"],
                  "crossbar_um2": area["crossbar"], "added_um2": added, "added_share_of_logic": round(added / logic, 4),
                  "added_mm2_16nm": scaled, "paper_mm2": ANT_ADDED_MM2}
    text.append(f"ANT adds {added:,.0f} um2 per PE: {100 * added / area['scnn_pe']:.0f} % of the SCNN-like PE without crossbar, adders "
                f"and memories, {100 * added / logic:.0f} % with\ncrossbar and adders ({area['accumulators']:,.0f} um2). That is about "
                f"{scaled:.4f} mm2 at 16 nm by plain scaling; the paper says {ANT_ADDED_MM2} mm2.\n")
    if switching:
        out["switching"] = switching
        text.append(switching_table(switching))
    growth = growth_of(results, area, delay)
    out["growth"] = growth
    text.append(table("Growth with the connectivity", ("connectivity", "lanes", "depth", "moves", "levels", "scheduler um2", "ns",
                                                       "32-bit muxes um2", "ns", "law"),
                      [(g["name"], g["Lanes"], g["Depth"], g["Moves"], g["Levels"], f"{g['scheduler_um2']:,.0f}",
                        f"{g['scheduler_ns']:.2f}", f"{g['mux_um2']:,.0f}", f"{g['mux_ns']:.2f}", f"{100 * g['law_error']:+.0f} %") for g in growth]))
    out["text"] = "\n".join(text)
    return out
