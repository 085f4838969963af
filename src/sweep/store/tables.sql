-- The tables of a file of results (docs/sweep.md). Names in braces are filled in by schema.cpp.
CREATE TABLE programs (
  id INTEGER PRIMARY KEY,
  version TEXT NOT NULL,             -- of lacuna
  results_version INTEGER NOT NULL,  -- raised whenever a change of the program changes its numbers
  assumptions TEXT NOT NULL,         -- docs/assumptions.md of that version
  UNIQUE (version, results_version)
) STRICT;
CREATE TABLE traces (
  id INTEGER PRIMARY KEY,
  {traces},
  checksum INTEGER                   -- of the row: checksums.hpp
) STRICT;
CREATE TABLE layers (
  trace INTEGER NOT NULL REFERENCES traces (id),
  layer INTEGER NOT NULL,            -- 0, 1, ... in the order of the network
  {layers},
  checksum INTEGER,                  -- of the row: checksums.hpp
  PRIMARY KEY (trace, layer)
) STRICT, WITHOUT ROWID;
CREATE TABLE designs (
  id INTEGER PRIMARY KEY,
  program INTEGER NOT NULL REFERENCES programs (id),
  {designs},
  checksum INTEGER                   -- of the row: checksums.hpp
) STRICT;
CREATE TABLE results (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,          -- SHA-256 of program, design and trace
  design INTEGER NOT NULL REFERENCES designs (id),
  trace INTEGER NOT NULL REFERENCES traces (id),
  measured INTEGER NOT NULL,         -- 1 cycles + 2 energy + 4 area + 8 memory
  took_seconds REAL NOT NULL,        -- to compute
  computed_at TEXT NOT NULL,
  -- Totals of one training step with the whole batch.
  {points},
  checksum INTEGER
) STRICT;
CREATE INDEX results_by_design ON results (design);
CREATE TABLE operation_results (
  point INTEGER NOT NULL REFERENCES results (id) ON DELETE CASCADE,
  layer INTEGER NOT NULL,
  operation INTEGER NOT NULL,        -- 0 forward, 1 input_grad, 2 weight_grad
  -- Counts of the samples recorded; joules and bytes of the whole batch.
  {operations},
  checksum INTEGER,
  PRIMARY KEY (point, layer, operation)
) STRICT, WITHOUT ROWID;
CREATE TABLE failures (
  {failures},
  program INTEGER NOT NULL REFERENCES programs (id),
  failed_at TEXT NOT NULL
) STRICT;
CREATE TABLE swept_parameters (
  name TEXT NOT NULL PRIMARY KEY     -- a column of the view 'points'
) STRICT;
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY,
  program INTEGER NOT NULL REFERENCES programs (id),
  plan TEXT NOT NULL,                -- as it was written
  started_at TEXT NOT NULL,
  ended_at TEXT,                     -- NULL: it was stopped or killed
  points INTEGER NOT NULL,           -- that the plan asks for
  computed INTEGER NOT NULL DEFAULT 0
) STRICT;
