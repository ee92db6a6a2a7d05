-- The snapshot of the graph that was the current one when the service found out what a signal touches. Null where there was none yet, and where
-- the source brought the impact itself.
ALTER TABLE signal ADD COLUMN graph_snapshot_id text REFERENCES graph_snapshot;
