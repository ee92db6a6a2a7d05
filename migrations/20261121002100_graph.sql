-- The exposure graph's frozen snapshots: named by their content, kept whole while they may be answered from, listed for ever.

-- A body of facts as canonical JSON: its name is the SHA-256 of the text, so that whoever loads it can tell that it is whole.
CREATE TABLE graph_publication (
    content_hash text PRIMARY KEY CHECK (content_hash ~ '^[0-9a-f]{64}$'),
    body         text NOT NULL
);

CREATE TABLE graph_snapshot (
    snapshot_id text PRIMARY KEY CHECK (snapshot_id ~ '^[0-9a-f]{64}$'),
    -- By whoever froze these facts first.
    built_at    timestamptz NOT NULL,
    -- As it is served, member for member.
    manifest    json NOT NULL
);

CREATE FUNCTION a_snapshot_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a frozen snapshot never changes' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER a_snapshot_is_frozen BEFORE UPDATE OR DELETE ON graph_snapshot
    FOR EACH ROW EXECUTE FUNCTION a_snapshot_is_frozen();

-- Which snapshot is answered from, and who builds the next one.
CREATE TABLE graph_current (
    single       boolean PRIMARY KEY DEFAULT true CHECK (single),
    snapshot_id  text REFERENCES graph_snapshot,
    -- The facts that it was read from: a builder that read older ones does not take its place.
    data_version bigint NOT NULL DEFAULT 0,
    -- When those facts were read.
    confirmed_at timestamptz,
    -- Chains that were withheld then, and so are not in it. It is not answered from while another one is.
    withheld     bigint[] NOT NULL DEFAULT '{}',
    -- When a build was last begun on time.
    claimed_at   timestamptz NOT NULL DEFAULT to_timestamp(0)
);
INSERT INTO graph_current DEFAULT VALUES;

INSERT INTO data_tag (tag, version) VALUES ('graph', (extract(epoch FROM clock_timestamp()) * 1000)::bigint);
