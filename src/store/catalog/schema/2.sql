-- Version 2. From the receipts Prune, Pin and Unpin.

-- Snapshots that were given up. One whose record is still there does not count.
CREATE TABLE pruned (
    snapshot TEXT PRIMARY KEY,
    instance TEXT NOT NULL,
    number   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pruned_by_instance ON pruned (instance);

-- What is asked for by its act alone: forks, and the last restores.
CREATE INDEX receipts_by_act ON receipts (act, number);

-- What is kept until it is unpinned. An empty snapshot stands for the whole session.
CREATE TABLE pins (
    instance TEXT NOT NULL,
    snapshot TEXT NOT NULL,
    PRIMARY KEY (instance, snapshot)
) STRICT, WITHOUT ROWID;
