-- Version 1. A projection of receipts.log and snapshots/*.json. Times are RFC 3339 with nine digits, so that
-- they sort as text; what is only shown, never asked for, is JSON.

-- The chain, with the place of each line in the log.
CREATE TABLE receipts (
    number   INTEGER PRIMARY KEY,
    start    INTEGER NOT NULL,
    stop     INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    at       TEXT NOT NULL,
    instance TEXT NOT NULL,
    act      TEXT NOT NULL,
    json     TEXT NOT NULL
) STRICT;
CREATE INDEX receipts_by_instance ON receipts (instance, act, number);
CREATE INDEX receipts_by_time ON receipts (at, number);

-- From the receipts Begin and End.
CREATE TABLE instances (
    id         TEXT PRIMARY KEY,
    begun      INTEGER NOT NULL,
    workspace  TEXT,
    mode       TEXT NOT NULL,
    mounts     TEXT NOT NULL,
    keeper     TEXT,
    boot       TEXT NOT NULL,
    command    TEXT,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    ending     TEXT,
    survivors  TEXT
) STRICT;
CREATE TABLE instance_roots (
    root     BLOB NOT NULL,
    instance TEXT NOT NULL,
    PRIMARY KEY (root, instance)
) STRICT, WITHOUT ROWID;

-- From the receipts Capture. The first one for a snapshot counts.
CREATE TABLE captures (
    snapshot TEXT PRIMARY KEY,
    number   INTEGER NOT NULL,
    record   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- From the records.
CREATE TABLE snapshots (
    id        TEXT PRIMARY KEY,
    instance  TEXT NOT NULL,
    workspace TEXT,
    kind      TEXT NOT NULL,
    late      INTEGER NOT NULL,
    name      TEXT,
    message   TEXT,
    taken_at  TEXT NOT NULL,
    complete  INTEGER NOT NULL,
    entries   INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    mounts    TEXT NOT NULL
) STRICT;
CREATE INDEX snapshots_by_instance ON snapshots (instance);
CREATE TABLE snapshot_roots (
    root     BLOB NOT NULL,
    snapshot TEXT NOT NULL,
    PRIMARY KEY (root, snapshot)
) STRICT, WITHOUT ROWID;

-- Snapshots in the order of the chain. One without a receipt (its process was killed between the two, or the
-- log is lost) has its place behind the last receipt that is not younger than it.
CREATE VIEW moments AS
SELECT s.id, s.instance, s.kind, s.late, s.name, s.message, s.taken_at, s.complete, s.entries, s.bytes,
       c.number,
       coalesce(c.number, (SELECT max(r.number) FROM receipts r WHERE r.at <= s.taken_at), 0) AS place
FROM snapshots s LEFT JOIN captures c ON c.snapshot = s.id;

-- Instances, also those of which only snapshots are left: those begin with their first snapshot.
CREATE VIEW sessions AS
SELECT id, workspace, mode, mounts, keeper, boot, command, started_at, ended_at, ending, survivors, begun AS place
FROM instances
UNION ALL
SELECT f.instance, f.workspace, 'unknown', f.mounts, NULL, '', NULL, f.taken_at, NULL, NULL, NULL,
       coalesce((SELECT max(r.number) FROM receipts r WHERE r.at <= f.taken_at), 0)
FROM (
    SELECT instance, workspace, mounts, taken_at, min(taken_at || id) FROM snapshots s
    WHERE NOT EXISTS (SELECT 1 FROM instances i WHERE i.id = s.instance)
    GROUP BY instance
) f;
