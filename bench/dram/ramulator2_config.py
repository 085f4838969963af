"""Writes a configuration of Ramulator 2: ramulator2_config.py TRACE OUT.

The parts of lpddr4: Ramulator has no LPDDR4, so its DDR4 device takes that one's timings (JESD209-4, cycles of 0.625 ns).
PYTHONPATH names Ramulator's folder `python`; nothing there has to be compiled.
"""
import json
import sys

import ramulator

TIMINGS = {"nCL": 28, "nCWL": 14, "nRCD": 29, "nRP": 29, "nRAS": 68, "nRC": 97, "nRRDS": 16, "nRRDL": 16, "nFAW": 64,
           "nCCDS": 4, "nCCDL": 4, "nWTRS": 16, "nWTRL": 16, "nWR": 29, "nRTP": 12, "nRFC": 448, "nREFI": 6246}
CHANNELS = 4


def controller():
    return ramulator.controller.GenericDDR(
        dram=ramulator.dram.DDR4(org_preset="DDR4_8Gb_x16", timing_preset="DDR4_3200AA", rank=1, **TIMINGS),
        scheduler=ramulator.scheduler.FRFCFS(), refresh_manager=ramulator.refresh_manager.AllBank(),
        row_policy=ramulator.row_policy.Open(), addr_mapper=ramulator.addr_mapper.RoBaRaCoCh())


def main():
    trace, out = sys.argv[1:]
    memory = ramulator.memory_system.GenericDRAM(
        clock_ratio=1, controllers=[controller() for _ in range(CHANNELS)],
        channel_mapper=ramulator.channel_mapper.CacheLineInterleave())
    frontend = ramulator.frontend.LoadStoreTrace(clock_ratio=8, path=trace)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"frontend": frontend.to_config(), "memory_system": memory.to_config()}, file)


main()
