#!/usr/bin/env python3
"""Draws how scheduler and multiplexers grow, from silicon.py's JSON: plot.py silicon.json growth.svg"""
import json
import sys

INK, GRID, SCHEDULER, MUX = "#333", "#ddd", "#b4552d", "#2d6ab4"


def panel(x0, title, unit, points, value, label, width=270, height=190):
    """One bar per connectivity; `points` are in the order drawn."""
    points = [p for p in points if value(p)]  # what was measured
    top = max(value(p) for p in points) * 1.15
    out = [f'<text x="{x0}" y="28" font-weight="bold">{title}</text>', f'<text x="{x0}" y="45" fill="#666">{unit}</text>']
    base, step = 60 + height, width / len(points)
    for i in range(5):
        y = base - height * i / 4
        out.append(f'<line x1="{x0}" x2="{x0 + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
        out.append(f'<text x="{x0 - 5}" y="{y + 4:.1f}" text-anchor="end" fill="#666">{top * i / 4:,.{0 if top > 20 else 1}f}</text>')
    for i, p in enumerate(points):
        h = height * value(p) / top
        x = x0 + step * (i + 0.2)
        colour = SCHEDULER if p["name"] == "paper" else MUX
        out.append(f'<rect x="{x:.1f}" y="{base - h:.1f}" width="{step * 0.6:.1f}" height="{h:.1f}" fill="{colour}">'
                   f'<title>{label(p)}: {value(p):,.2f}</title></rect>')
        out.append(f'<text x="{x + step * 0.3:.1f}" y="{base + 15}" text-anchor="middle">{label(p)}</text>')
    return out


def main():
    growth = json.load(open(sys.argv[1], encoding="utf-8"))["growth"]
    by = {g["name"]: g for g in growth}
    pick = lambda *names: [by[n] for n in names if n in by]
    lanes, moves = pick("lanes4", "lanes8", "paper", "lanes32"), pick("lookahead", "moves4", "moves6", "paper", "crossbar")
    depth = pick("depth2", "paper", "depth4")
    body = []
    rows = (("Scheduler area", "thousand um2, 0.18 um", lambda g: g["scheduler_um2"] / 1000),
            ("Scheduler delay", "ns, 0.18 um", lambda g: g["scheduler_ns"]),
            ("Multiplexers of one operand, 32 bit", "thousand um2, 0.18 um", lambda g: g["mux_um2"] / 1000))
    for r, (title, unit, value) in enumerate(rows):
        body.append(f'<g transform="translate(0 {r * 290})">')
        body += panel(60, f"{title} by lanes", unit, lanes, value, lambda g: f"{g['Lanes']}")
        body += panel(400, "by movements", unit, moves, value, lambda g: f"{g['Moves']}")
        body += panel(740, "by depth", unit, depth, value, lambda g: f"{g['Depth']}")
        body.append("</g>")
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1040 {290 * len(rows)}" font-family="sans-serif" '
                  f'font-size="12" fill="{INK}"><rect width="100%" height="100%" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


if __name__ == "__main__":
    main()
