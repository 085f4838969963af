#!/usr/bin/env python3
"""Injects bugs into the RTL, one at a time, and checks that a co-simulation test fails.

  mutate.py BUILD            verilates the top of each mutant and relinks its test with the objects of BUILD
  mutate.py --list           name, module under test and test of each
  mutate.py --apply NAME TO  writes a mutated copy of the RTL
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

RTL = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_S = 600  # a mutant that hangs is caught; one that is only slow must not seem to be

# name, file, text, its replacement, verilated module, test
MUTATIONS = [
    ("lane-takes-two-values", "tensordash/td_sched_level.sv", "if (!valid_o[l] && (", "if ((", "Vfe_fig7", "fig7_test"),
    ("taken-values-stay", "tensordash/td_sched_level.sv", "window_i & ~taken", "window_i", "Vfe_fig7", "fig7_test"),
    ("advance-is-always-one", "tensordash/td_drained.sv", "AdvW'(s + 1)", "AdvW'(1)", "Vfe_fig7", "fig7_test"),
    ("window-runs-into-next-stream", "tensordash/td_window_ctrl.sv", "cut          = offer_last_i[s]", "cut          = 1'b0",
     "Vfe_fig7", "fig7_test"),
    ("stall-is-ignored", "tensordash/td_window_ctrl.sv", "issue_at[a] & ~stall_i", "issue_at[a]", "Vfe_fig7", "fig7_test"),
    ("tile-slides-by-the-most", "tensordash/td_tile_frontend.sv",
     "all = all & (drained[r*AdvW +: AdvW] > AdvW'(s));", "all = 1'b1;",
     "Vfe_masks", "layer_test"),
    ("multiplexer-looks-the-other-way", "tensordash/td_operand_mux.sv", "place(l, m)",
     "place(2 * l - td_conn_pkg::place(l, m) % Lanes + Lanes, m)", "Vfe_fig7", "fig7_test"),
    ("negative-zero-is-effectual", "tensordash/td_zero_detect.sv", "+: Width-1]", "+: Width]", "Vfe_fig7", "fig7_test"),
    ("staging-loads-the-wrong-row", "tensordash/td_staging.sv", "offered_i[((s + a) % Depth)*Bits", "offered_i[(s % Depth)*Bits",
     "Vfe_fig7", "fig7_test"),
    ("multiplier-forgets-sticky", "fp/fp_mul.sv", "guard_q & (sticky_q | man_q[0])", "guard_q & man_q[0]", "Vfp_mul32", "fp_test"),
    ("adder-forgets-lost-bits", "fp/fp_add.sv", "shifted[0] | (|lost)", "shifted[0]", "Vfp_add32", "fp_test"),
    ("one-zero-is-not-enough", "tensordash/td_pair_frontend.sv", "a_effectual_i & b_effectual_i", "b_effectual_i", "Vtile_pairs",
     "tile_test"),
    ("accumulator-is-not-cleared", "tensordash/td_pe.sv", "first ? tree : acc_sum", "acc_sum", "Vtile_bf16",
     "tile_test"),
    ("search-passes-over-a-hit", "outer_product/ant_selector.sv", "next_o = PosW'(i);", "next_o = PosW'(i + 1);", "Vant_pe", "outer_product_test"),
    ("range-rounds-down", "outer_product/outer_axis_range.sv", "offset_low_i + round_up", "offset_low_i", "Vant_pe", "outer_product_test"),
    ("bank-takes-two-products", "outer_product/outer_crossbar.sv", "request & (~request + 1'b1)", "request", "Vouter_accumulators", "outer_product_test"),
    ("levels-forget-what-they-took", "tensordash/td_compressor.sv", "taken_q <= pending & ~after;", "taken_q <= '0;",
     "Vbackside", "storage_test"),
    ("waiting-values-are-dropped", "tensordash/td_decompressor.sv", ".staged_i(filled)", ".staged_i(placed)", "Vdecompressor",
     "storage_test"),
    ("transposer-overwrites", "tensordash/td_transposer.sv", "(in_q < out_q)", "(in_q <= out_q)", "Vtransposer", "storage_test"),
    ("short-group-shows-old-values", "tensordash/td_transposer.sv", " && CountW'(v) <= end_q", "", "Vtransposer", "storage_test"),
    ("short-group-overtakes", "tensordash/td_transposer.sv", "(~ends & (", "((", "Vtransposer", "storage_test"),
    ("counter-drops-the-first-block", "tensordash/td_zero_counter.sv", "valid_i ? CountW'(zeros) : '0", "'0", "Vzero_counter",
     "storage_test"),
    ("counter-overflows", "tensordash/td_zero_counter.sv", "valid_i && !full", "valid_i", "Vzero_counter", "storage_test"),
    ("row-waits-for-its-taker", "tensordash/td_compressor.sv", "issue & ~busy;", "issue & ~busy & row_ready_i;", "Vcompressor",
     "storage_test"),
    ("mode-changes-within-a-stream", "tensordash/td_window_ctrl.sv", "starts_at[a] ? bypass_i : bypass_q", "bypass_i", "Vfe_fig7",
     "fig7_test"),
    ("mode-is-forgotten", "tensordash/td_window_ctrl.sv", "bypass_q <= dense;", "bypass_q <= 1'b0;", "Vfe_fig7", "fig7_test"),
    ("first-cycle-is-not-marked", "tensordash/td_window_ctrl.sv", "assign fresh_d  = starts;", "assign fresh_d  = 1'b0;",
     "Vfe_fig7", "fig7_test"),
    ("reset-leaves-the-window-full", "tensordash/td_window_ctrl.sv", "full_q   <= 1'b0;", "", "Vfe_fig7", "fig7_test"),
    ("scheduler-works-in-bypass", "tensordash/td_select.sv", "bypass_i ? '0 : pending", "pending", "Vfe_fig7", "fig7_test"),
    ("tree-drops-a-term", "fp/fp_adder_tree.sv", "(From + 2*i + 1)*Width", "(From + 2*i)*Width", "Vtile_bf16", "tile_test"),
    ("rows-share-a-selection", "tensordash/td_tile.sv", ".sel_i(sel[r*Lanes*SelW +: Lanes*SelW])", ".sel_i(sel[0 +: Lanes*SelW])",
     "Vtile", "tile_test"),
    ("columns-share-an-operand", "tensordash/td_tile.sv", "a_staged[(p % Columns)*Staged*RowW +: Staged*RowW]",
     "a_staged[0 +: Staged*RowW]", "Vtile_3x2", "tile_test"),
    ("result-is-not-held", "tensordash/td_tile.sv", "result_valid_o & ~result_ready_i", "1'b0 & result_ready_i", "Vtile",
     "tile_test"),
    ("pairs-slide-by-the-first", "tensordash/td_tile.sv", "all = all & (drained[p*StageW +: StageW] > StageW'(s));",
     "if (p == 0) all = drained[p*StageW +: StageW] > StageW'(s);", "Vtile_1x4",
     "tile_test"),
    ("kernel-runs-over-its-end", "outer_product/scnn_pe.sv", "place_q + PtrW'(n) < kernel_count_i", "place_q + PtrW'(n) <= kernel_count_i",
     "Vscnn_pe", "outer_product_test"),
    ("outputs-in-front-of-the-first", "outer_product/outer_index.sv", "~u[CalW-1] & ", "", "Vscnn_pe", "outer_product_test"),
    # Registers for a faster clock.
    ("stage-moves-while-the-pipe-stands", "fp/fp_cut.sv", "if (enable_i) held_q", "held_q", "Vfp_mul32_cut", "fp_test"),
    ("tree-of-partial-products-loses-a-carry", "fp/fp_partial_sums.sv", "(x & z)", "(x & y)", "Vfp_mul32_cut", "fp_test"),
    ("zeros-are-counted-from-the-wrong-half", "fp/fp_leading_zeros.sv", "any[2*n] ? count[2*n*", "any[2*n + 1] ? count[2*n*",
     "Vfp_add32", "fp_test"),
    ("terms-go-to-one-sum", "tensordash/td_pe.sv", "Sums'({turn, turn[Sums-1]})", "turn", "Vtile_fast", "tile_test"),
    ("sums-keep-the-last-output", "tensordash/td_pe.sv", "begun = first ? '0 : begun_q", "begun = begun_q", "Vtile_fast", "tile_test"),
    ("total-takes-sums-of-another-output", "tensordash/td_pe.sv", "has_q[AddRegs*Sums + k] ?", "1'b1 | has_q[AddRegs*Sums + k] ?",
     "Vtile_fast", "tile_test"),
    ("operands-of-b-come-too-early", "tensordash/td_tile.sv", "= operands_q[(p / Columns)*RowW +: RowW]",
     "= operands[(p / Columns)*RowW +: RowW]", "Vtile_fast", "tile_test"),
    ("output-is-done-too-early", "tensordash/td_pe.sv", "done_q[After-1]", "done_q[After-2]", "Vtile_fast", "tile_test"),
    ("product-counts-twice", "outer_product/outer_accumulators.sv", "useful_i & ~gone_q", "useful_i", "Vouter_accumulators",
     "outer_product_test"),
    # The tile that runs a layer.
    ("window-reaches-outside-the-image", "layer/td_fetch_issue.sv", "inside_o[l] = y < operand_i.rows && x", "inside_o[l] = x",
     "Vlayer_small", "run_layer_test"),
    ("two-lines-read-one-bank", "layer/td_fetch_issue.sv", "!(inside_o[l] && taken[bank])", "!(inside_o[l] && taken[bank] && 1'b0)",
     "Vlayer_small", "run_layer_test"),
    ("last-channels-are-not-cut", "layer/td_fetch_issue.sv", "keep_o[l] = 1'b0", "keep_o[l] = 1'b1", "Vlayer_small", "run_layer_test"),
    ("taps-of-a-phase-are-neighbours", "layer/td_phase_taps.sv", "TapW'(1) << period;", "TapW'(1);", "Vlayer_small", "run_layer_test"),
    ("bundle-goes-on-at-the-first-line", "layer/td_fetch_transposed.sv", "first_line_q <= line_d;", "first_line_q <= '0;",
     "Vlayer_small", "run_layer_test"),
    ("half-is-given-back-too-early", "layer/td_offer.sv", "row_release_o[row_half_q]       = visit_over & row_block_ends;",
     "row_release_o[row_half_q]       = visit_over & group_ends;", "Vlayer_small", "run_layer_test"),
    ("tile-begins-before-its-group-is-there", "layer/td_offer.sv", "row_group_d < DimW'", "row_group_d <= DimW'", "Vlayer_small",
     "run_layer_test"),
    ("lines-without-a-stream-show-old-steps", "layer/td_offer.sv", "if (row_there[r]) offer_b_o", "if (1'b1 | row_there[r]) offer_b_o",
     "Vlayer_small", "run_layer_test"),
    ("next-row-of-the-banks-is-not-read", "layer/td_offer.sv", "(RSpaceW-1)'(AdvW'(b) < bank_d)}", "(RSpaceW-1)'(0)}", "Vlayer_small",
     "run_layer_test"),
    ("block-of-columns-begins-again-at-the-first", "layer/td_visits.sv", "? column_next : block_q;", "? column_next : '0;",
     "Vlayer_small", "run_layer_test"),
    ("channels-of-two-blocks-are-written-as-one", "layer/td_write_back.sv",
     "channels[c*3*DimW + SideW +: 3*DimW - SideW] == {first.d2, first.d1, first.d0[DimW-1:SideW]}", "1'b1", "Vlayer_small",
     "run_layer_test"),
    ("phases-fall-on-each-other", "layer/td_write_back.sv", "product_i.phase_w + (", "(", "Vlayer_small", "run_layer_test"),
    ("result-is-overwritten-while-it-is-written", "layer/td_write_back.sv", "~product_i.empty & (~held_q | visit_over);",
     "~product_i.empty;", "Vlayer_small", "run_layer_test"),
    ("zeros-decide-nothing", "layer/td_layer.sv", "layer.bypass == td_layer_pkg::BypassAuto && bm_gate", "1'b0", "Vlayer_small",
     "run_layer_test"),
    ("registers-change-while-it-runs", "layer/td_layer_regs.sv", "awaddr_q[1:0] == '0 && !busy_i", "awaddr_q[1:0] == '0", "Vlayer_small",
     "run_layer_test"),
    ("block-too-large-is-accepted", "layer/td_layer_plan.sv", "row_space <= WideW'(RowLines)", "1'b1", "Vlayer_small", "run_layer_test"),
    ("reset-leaves-a-half-held", "layer/td_fetch.sv", "      held_q   <= '0;\n", "", "Vlayer_small", "run_layer_test"),
]
# Changes nothing: must pass.
CONTROL = ("control", "tensordash/td_drained.sv", "AdvW'(s + 1)", "AdvW'(s + 1)", "Vfe_fig7", "fig7_test")


def apply(mutation, to):
    name, file, old, new = mutation[:4]
    shutil.copytree(RTL, to, dirs_exist_ok=True)
    path = to / file
    text = path.read_text()
    if text.count(old) < 1:
        sys.exit(f"mutate: {name}: {file} no longer has '{old}'; bring the list up to date")
    path.write_text(text.replace(old, new, 1))


def caught(mutation, build):
    """Verilates the mutant with the command CMake uses, links the test with it, runs the test."""
    prefix, test = mutation[4], "rtl_" + mutation[5]
    command = lambda target: subprocess.run(["ninja", "-C", build, "-t", "commands", target], check=True, text=True,
                                            stdout=subprocess.PIPE).stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        apply(mutation, work / "rtl")
        make = next(line for line in command(f"{prefix}_files") if f"verilate.sh {build}" in line.replace("//", "/"))
        make = make.replace(str(RTL / "verilate.sh"), str(work / "rtl" / "verilate.sh"))
        make = make.replace(f"{build}/rtl/{prefix} ", f"{work}/{prefix} ")
        # A mutant runs once: compiling it quickly matters more than its speed.
        subprocess.run(make, shell=True, check=True, cwd=build, stdout=subprocess.DEVNULL,
                       env={"RTL_OPTIMIZE": "-O0", "VERILATE_OPTIONS": "-Wno-fatal", **os.environ})
        link = next(line for line in reversed(command(test)) if f" -o rtl/{test} " in line)
        link = link.replace(f" -o rtl/{test} ", f" -o {work}/{test} ")
        link = link.replace(f"rtl/{prefix}/{prefix}__ALL.a", f"{work}/{prefix}/{prefix}__ALL.a").split(" && cd ")[0]
        subprocess.run(link, shell=True, check=True, cwd=build)
        try:
            return subprocess.run([str(work / test), "--gtest_fail_fast"], timeout=TIMEOUT_S, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False).returncode != 0
        except subprocess.TimeoutExpired:
            return True


def main():
    if sys.argv[1:] == ["--list"]:
        for mutation in MUTATIONS:
            print(mutation[0], mutation[4], mutation[5])
    elif len(sys.argv) == 4 and sys.argv[1] == "--apply":
        apply(next(m for m in MUTATIONS if m[0] == sys.argv[2]), pathlib.Path(sys.argv[3]))
    elif len(sys.argv) == 2 and not re.match("-", sys.argv[1]):
        survivors, build = 0, str(pathlib.Path(sys.argv[1]).resolve())
        if caught(CONTROL, build):
            sys.exit("mutate: the RTL as it is fails; what follows would show nothing")
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("SILICON_JOBS", os.cpu_count()))) as pool:
            for mutation, ok in zip(MUTATIONS, pool.map(lambda m: caught(m, build), MUTATIONS)):
                survivors += not ok
                print(f"{mutation[0]:<34} {'caught' if ok else 'NOT CAUGHT'} by {mutation[5]}", flush=True)
        print(f"{len(MUTATIONS) - survivors} of {len(MUTATIONS)} caught")
        sys.exit(1 if survivors else 0)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
