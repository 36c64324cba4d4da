-- The tables of an empty store. Other statements assume them; both/migration/check_tables.sql names their columns.
-- A statement ends with a semicolon at the end of a line.

-- The change log: each version of each item, with the members it left; NULL for a deletion, and
-- after removal. `caller` made the change, `acting` on the caller's behalf, with the program `client`.
CREATE TABLE changes (
    sequence INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    item_id BLOB NOT NULL,
    version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    time BIGINT NOT NULL,
    caller TEXT NULL,
    acting TEXT NULL,
    client TEXT NULL,
    request_id TEXT NULL,
    parent BLOB NULL,
    continues BLOB NULL,
    members TEXT NULL,
    removed_at BIGINT NULL
);
CREATE UNIQUE INDEX changes_by_item ON changes (item_id, version);
CREATE INDEX changes_by_time ON changes (collection, time, item_id);
CREATE INDEX changes_by_removal ON changes (collection, item_id) WHERE kind = 'deleted';
-- An entry has the number of its row in any case.
CREATE INDEX changes_of_deletions ON changes (collection, kind) WHERE kind = 'deleted';
CREATE INDEX changes_by_collection ON changes (collection);

-- The items that exist. `continues` and `reference_0` are no foreign keys, because an item may outlive
-- the items that it names. No index has a column that every write changes.
CREATE TABLE items (
    id BLOB NOT NULL PRIMARY KEY,
    collection TEXT NOT NULL,
    parent BLOB NULL REFERENCES items (id),
    version BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    created_by TEXT NULL,
    continues BLOB NULL,
    reference_0 BLOB NULL,
    key_1 TEXT NULL,
    key_2 TEXT NULL,
    key_3 TEXT NULL,
    key_4 TEXT NULL,
    key_5 TEXT NULL
) WITHOUT ROWID;
CREATE INDEX items_by_collection ON items (collection, id);
CREATE INDEX items_by_parent ON items (parent, id) WHERE parent IS NOT NULL;
CREATE INDEX items_by_creator ON items (collection, created_by, id) WHERE created_by IS NOT NULL;
CREATE INDEX items_by_continues ON items (continues) WHERE continues IS NOT NULL;
CREATE INDEX items_by_key_1 ON items (key_1, id) WHERE key_1 IS NOT NULL;
CREATE INDEX items_by_key_2 ON items (key_2, id) WHERE key_2 IS NOT NULL;
CREATE INDEX items_by_key_3 ON items (key_3, id) WHERE key_3 IS NOT NULL;
CREATE INDEX items_by_key_4 ON items (key_4, id) WHERE key_4 IS NOT NULL;
CREATE INDEX items_by_key_5 ON items (key_5, id) WHERE key_5 IS NOT NULL;

-- The items and writes of a scope: the sums over its lanes, so that concurrent writers need not
-- write to the same row. The parent of a whole collection is the nil UUID.
CREATE TABLE totals (
    collection TEXT NOT NULL,
    parent BLOB NOT NULL,
    lane INTEGER NOT NULL,
    items BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (collection, parent, lane)
) WITHOUT ROWID;

-- Answers to requests with a key: the written version, and the links and remarks it was shown with.
CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    item_id BLOB NOT NULL,
    version BIGINT NOT NULL,
    continues BLOB NULL,
    continued_by TEXT NOT NULL,
    remarks TEXT NOT NULL,
    reference_0 BLOB NULL,
    PRIMARY KEY (caller, path, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- The display names of callers. They change and can be erased, so the log does not have them.
CREATE TABLE callers (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL
);

-- Words come folded and separated, so the tokenizer takes all characters but spaces for letters. The
-- rowid is the number of the item's first change. Prefixes of two and three characters are indexed
-- too. Segments are merged less often than by default, which costs a quarter less. Each column has
-- the words of a top-level member, the last the words of those without a column of search_columns.
-- The column `none` is empty.
CREATE TABLE search_columns (
    collection TEXT NOT NULL,
    member TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (collection, member)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE search_index USING fts5(
    none, m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25,
    m26, m27, m28, m29, m30, m31, content = '', contentless_delete = 1, prefix = '2 3',
    tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
INSERT INTO search_index (search_index, rank) VALUES ('automerge', 8);
CREATE VIRTUAL TABLE search_words USING fts5vocab(search_index, instance);

-- The last indexed change, and the counts by value as of that change.
CREATE TABLE search_progress (sequence BIGINT NOT NULL);
INSERT INTO search_progress VALUES (0);
CREATE TABLE value_counts (
    collection TEXT NOT NULL,
    member TEXT NOT NULL,
    value TEXT NOT NULL,
    items BIGINT NOT NULL,
    PRIMARY KEY (collection, member, value)
) WITHOUT ROWID;

-- The progress, policy and lease of the removal of old bodies.
CREATE TABLE compaction (
    policy TEXT NOT NULL,
    sequence BIGINT NOT NULL PRIMARY KEY,
    begins_at BIGINT NOT NULL,
    holder TEXT NOT NULL,
    held_until BIGINT NOT NULL
);
INSERT INTO compaction VALUES ('', 0, 0, '', 0);

-- The bytes of contents, by names that are used once: `arriving`, then `kept` for the items that have
-- them, or `doomed` to be removed. `uses` counts the writes that gave them to an item. Bytes without
-- a use are doomed at the end of their lease. `place` is the key that removes unfinished bytes; `damage` is the
-- result of the last verification.
CREATE TABLE contents (
    id BLOB NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    sha256 TEXT NULL,
    size BIGINT NOT NULL,
    crc32 BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    place TEXT NULL,
    verified_at BIGINT NOT NULL,
    damage TEXT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX contents_by_digest ON contents (sha256) WHERE state = 'kept';
CREATE INDEX contents_by_lease ON contents (lease_until) WHERE uses = 0 AND state <> 'doomed';
CREATE INDEX contents_by_verification ON contents (verified_at) WHERE state = 'kept';
CREATE INDEX contents_doomed ON contents (id) WHERE state = 'doomed';

-- The sessions of the pages, by the SHA-256 of their ids. The id, which only the browser has, decrypts the token.
CREATE TABLE sessions (
    digest TEXT NOT NULL PRIMARY KEY,
    caller TEXT NOT NULL,
    began_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    token TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_by_caller ON sessions (caller, began_at);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- The folder or bucket that has the bytes.
CREATE TABLE content_store (id TEXT NOT NULL);

-- Each database has its own history.
CREATE TABLE history (id TEXT NOT NULL);
INSERT INTO history VALUES (lower(hex(randomblob(4))));

-- The version of these tables (`BASE` in migration/schema_version.rs), and the oldest version whose
-- services may read and write them.
CREATE TABLE schema_version (version INTEGER NOT NULL, oldest_reader INTEGER NOT NULL, oldest_writer INTEGER NOT NULL);
INSERT INTO schema_version VALUES (10, 10, 10);

-- The steps of migrations, with the position of a backfill.
CREATE TABLE schema_steps (
    migration TEXT NOT NULL,
    step TEXT NOT NULL,
    position TEXT NOT NULL,
    is_done INTEGER NOT NULL,
    PRIMARY KEY (migration, step)
) WITHOUT ROWID;

-- The running instances. Only PostgreSQL has several.
CREATE TABLE service_instances (
    id TEXT NOT NULL PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    address TEXT NOT NULL,
    seen_at BIGINT NOT NULL
) WITHOUT ROWID;
