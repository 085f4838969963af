-- The views of a file of results (docs/sweep.md). Names in braces are filled in by schema.cpp.
DROP VIEW IF EXISTS pareto;
DROP VIEW IF EXISTS by_network;
DROP VIEW IF EXISTS operations;
DROP VIEW IF EXISTS points;

-- One row per point: a design on a trace.
CREATE VIEW points AS SELECT
  r.id AS point,
  t.network AS network,
  t.name AS trace,
  d.id AS design,
  d.machine AS machine,
  d.parameters AS parameters,{extracted}
  {of_points},
  t.progress AS training_progress,
  t.batch AS batch,
  d.model AS model,
  d.energy_table AS energy_table,
  d.node_nm AS node_nm,
  p.version || '/' || p.results_version AS program,
  d.configuration AS configuration,
  t.sha256 AS trace_sha256,
  r.key AS key,
  r.computed_at AS computed_at
FROM results r
JOIN traces t ON t.id = r.trace
JOIN designs d ON d.id = r.design
JOIN programs p ON p.id = d.program;

-- One row per design and network: its traces added up.
CREATE VIEW by_network AS SELECT
  network, design, machine, parameters,{listed}
  count(*) AS traces,
  {of_networks},
  program
FROM points GROUP BY network, design;

-- The designs of each network that no smaller or equally large one beats in time.
CREATE VIEW pareto AS SELECT
  network, program, area_mm2, seconds, design, machine, parameters,{listed}
  cycles, speedup, energy_joules, energy_delay
FROM (SELECT *, min(seconds) OVER (
        PARTITION BY network, program ORDER BY area_mm2, seconds, design
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_of_smaller
      FROM by_network WHERE area_mm2 IS NOT NULL)
WHERE best_of_smaller IS NULL OR seconds < best_of_smaller
ORDER BY network, program, area_mm2;

-- One row per point, layer and operation, in numbers of the whole batch.
CREATE VIEW operations AS SELECT
  o.point AS point, points.network AS network, points.trace AS trace, points.design AS design,
  points.machine AS machine, points.parameters AS parameters,
  l.name AS layer, l.shape AS shape,
  CASE o.operation WHEN 0 THEN 'forward' WHEN 1 THEN 'input_grad' ELSE 'weight_grad' END AS operation,
  o.cycles * l.batch_scale AS cycles,
  o.baseline_cycles * l.batch_scale AS baseline_cycles,
  1.0 * o.baseline_cycles / nullif(o.cycles, 0) AS speedup,
  1.0 * o.cycles_without_zeros / nullif(o.cycles, 0) AS speedup_from_zeros,
  l.macs * l.batch_scale AS macs,
  1.0 * o.scheduled_macs / nullif(l.macs, 0) AS scheduled_share,
  1.0 * o.effectual_macs / nullif(l.macs, 0) AS effectual_share,
  o.energy_joules AS energy_joules,
  o.baseline_energy_joules / nullif(o.energy_joules, 0) AS energy_efficiency,
  o.bound AS bound, o.dram_bytes AS dram_bytes{others}
FROM operation_results o
JOIN results r ON r.id = o.point
JOIN points ON points.point = o.point
JOIN layers l ON l.trace = r.trace AND l.layer = o.layer;
