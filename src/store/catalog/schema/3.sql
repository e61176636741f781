-- Version 3. From the receipts Forget.

-- Snapshots that lost paths: the changes to their records, and the archives that hold their manifests since then.
CREATE TABLE amendments (
    snapshot TEXT NOT NULL,
    number   INTEGER NOT NULL,
    amended  TEXT NOT NULL,
    archives TEXT NOT NULL,
    PRIMARY KEY (snapshot, number)
) STRICT, WITHOUT ROWID;

-- Archives that go. One that is still there was left by a killed process.
CREATE TABLE forgotten_archives (
    archive TEXT PRIMARY KEY,
    number  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
