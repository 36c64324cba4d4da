-- The tables of an empty store. Other statements assume them; both/migration/check_tables.sql names their columns.
-- A statement ends with a semicolon at the end of a line.

-- The change log: each version of each item, with the members it left; NULL for a deletion, and
-- after removal. `caller` made the change, `acting` on the caller's behalf, with the program `client`.
CREATE TABLE changes (
    sequence bigserial PRIMARY KEY,
    collection TEXT NOT NULL,
    item_id uuid NOT NULL,
    version BIGINT NOT NULL,
    kind TEXT NOT NULL,
    time BIGINT NOT NULL,
    caller TEXT NULL,
    acting TEXT NULL,
    client TEXT NULL,
    request_id TEXT NULL,
    parent uuid NULL,
    continues uuid NULL,
    members json NULL,
    removed_at BIGINT NULL
);
CREATE UNIQUE INDEX changes_by_item ON changes (item_id, version);
CREATE INDEX changes_by_time ON changes (collection, time, item_id);
CREATE INDEX changes_by_removal ON changes (collection, item_id) WHERE kind = 'deleted';
CREATE INDEX changes_of_deletions ON changes (collection, sequence) WHERE kind = 'deleted';
CREATE INDEX changes_by_collection ON changes (collection, sequence);

-- Members of a usual size are not compressed, larger ones with lz4 if the server has it: the default
-- took a seventh of the processor time of a write.
ALTER TABLE changes SET (toast_tuple_target = 4096);
DO $$ BEGIN EXECUTE 'ALTER TABLE changes ALTER COLUMN members SET COMPRESSION lz4'; EXCEPTION
    WHEN feature_not_supported OR syntax_error THEN RAISE NOTICE 'lz4 is not available'; END $$;

-- The items that exist. `continues` and `reference_0` are no foreign keys, because an item may outlive
-- the items that it names. No index has a column that every write changes, and pages keep room, so that
-- an update stays on its page and writes to no index. Keys are compared by code point.
CREATE TABLE items (
    id uuid NOT NULL PRIMARY KEY,
    collection TEXT NOT NULL,
    parent uuid NULL REFERENCES items (id),
    version BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    created_by TEXT NULL,
    continues uuid NULL,
    reference_0 uuid NULL,
    key_1 TEXT COLLATE "C" NULL,
    key_2 TEXT COLLATE "C" NULL,
    key_3 TEXT COLLATE "C" NULL,
    key_4 TEXT COLLATE "C" NULL,
    key_5 TEXT COLLATE "C" NULL
);
ALTER TABLE items SET (fillfactor = 80);
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
    parent uuid NOT NULL,
    lane INTEGER NOT NULL,
    items BIGINT NOT NULL,
    writes BIGINT NOT NULL,
    PRIMARY KEY (collection, parent, lane)
);
ALTER TABLE totals SET (fillfactor = 50);

-- Answers to requests with a key: the written version, and the links and remarks it was shown with.
CREATE TABLE idempotency_keys (
    caller TEXT NOT NULL,
    path TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    item_id uuid NOT NULL,
    version BIGINT NOT NULL,
    continues uuid NULL,
    continued_by TEXT NOT NULL,
    remarks TEXT NOT NULL,
    reference_0 uuid NULL,
    PRIMARY KEY (caller, path, key)
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- The display names of callers. They change and can be erased, so the log does not have them.
CREATE TABLE callers (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    first_seen BIGINT NOT NULL,
    last_seen BIGINT NOT NULL
);

-- Words are collected, 16 MB of them, before they are sorted into the index. Vectors of a usual size
-- are not compressed. A lexeme has its places in texts, and with the label A the places of its members,
-- which lexemes beginning with \x01 name (search_index/indexed_words.rs).
CREATE TABLE search_index (item_id uuid NOT NULL PRIMARY KEY, words tsvector NOT NULL);
ALTER TABLE search_index SET (toast_tuple_target = 8160);
CREATE INDEX search_index_by_words ON search_index USING gin (words) WITH (gin_pending_list_limit = 16384);

-- The last indexed change, and the counts by value as of that change.
CREATE TABLE search_progress (sequence BIGINT NOT NULL);
INSERT INTO search_progress VALUES (0);
CREATE TABLE value_counts (
    collection TEXT NOT NULL,
    member TEXT NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    items BIGINT NOT NULL,
    PRIMARY KEY (collection, member, value)
);

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
    id uuid NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    sha256 TEXT NULL,
    size BIGINT NOT NULL,
    crc32 BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    place TEXT NULL,
    verified_at BIGINT NOT NULL,
    damage TEXT NULL
);
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
);
CREATE INDEX sessions_by_caller ON sessions (caller, began_at);
CREATE INDEX sessions_by_end ON sessions (ends_at);

-- The folder or bucket that has the bytes.
CREATE TABLE content_store (id TEXT NOT NULL);

-- Each database has its own history.
CREATE TABLE history (id TEXT NOT NULL);
INSERT INTO history VALUES (left(gen_random_uuid()::text, 8));

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
);

-- The running instances. Times are microseconds by the clock of the database.
CREATE TABLE service_instances (
    id TEXT NOT NULL PRIMARY KEY,
    schema_version INTEGER NOT NULL,
    address TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- The last closed time, and the fence of writes (postgres/fence.rs).
CREATE SEQUENCE write_clock;
CREATE TABLE write_fence ();
