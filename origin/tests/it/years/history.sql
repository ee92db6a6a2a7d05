-- Two years of history behind the demo market: every growing table, in proportion, multiplied from the rows that the market left. It is
-- written in one transaction, without triggers and foreign keys, in seconds.
SET LOCAL session_replication_role = replica;

-- Readings: every six hours.
INSERT INTO vault_snapshot
SELECT vault_id, observed_at - n * interval '6 hours', tvl_usd, base_apr, utilization, borrow_apr, incentives,
       price_per_share * (1 - n * 1e-5), content_hash
FROM (SELECT DISTINCT ON (vault_id) * FROM vault_snapshot ORDER BY vault_id, observed_at DESC) AS newest, generate_series(1, 2920) AS n ON CONFLICT DO NOTHING;

INSERT INTO vault_day (vault_id, day, last_at, used_at, calm_at, priced_at, priced_before, high, high_at, low, drawdown_bp, drawdown_from,
                       opened, opened_at, closed)
SELECT vault_id, vault_day_of(observed_at), max(observed_at), max(observed_at), max(observed_at), max(observed_at), min(observed_at),
       max(price_per_share), max(observed_at), min(price_per_share), 0, max(observed_at), min(price_per_share), min(observed_at),
       max(price_per_share)
FROM vault_snapshot WHERE price_per_share > 0 GROUP BY 1, 2 ON CONFLICT DO NOTHING;
INSERT INTO vault_sums (vault_id) SELECT id FROM vault ON CONFLICT DO NOTHING;

-- Published changes: one a day. Batches: one an hour. Score runs: one for each batch and one each hour over all vaults.
INSERT INTO score_history
SELECT vault_id, observed_at - n * interval '1 day', -n, 'score_move', new_score, new_score, new_tier, new_tier, methodology_version
FROM (SELECT DISTINCT ON (vault_id) * FROM score_history ORDER BY vault_id, observed_at DESC, version DESC) AS newest,
     generate_series(1, 730) AS n ON CONFLICT DO NOTHING;
INSERT INTO ingest_batch
SELECT -n, newest.at - n * interval '1 hour', 400, '{"vault_state": 400}'
FROM (SELECT max(accepted_at) AS at FROM ingest_batch) AS newest, generate_series(1, 17520) AS n ON CONFLICT DO NOTHING;
INSERT INTO score_run
SELECT 'run-' || -n, -n, CASE n % 2 WHEN 0 THEN 'all' ELSE 'vaults' END, methodology_version, input_hash, mode, vaults, changes,
       started_at - n * interval '30 minutes', completed_at - n * interval '30 minutes'
FROM (SELECT * FROM score_run ORDER BY version DESC LIMIT 1) AS newest, generate_series(1, 35040) AS n ON CONFLICT DO NOTHING;

-- Holders: every second day, and a hundred positions a vault. Campaigns: a step every fourth day.
INSERT INTO holder_snapshot
SELECT made.*
FROM (SELECT DISTINCT ON (vault_id) * FROM holder_snapshot ORDER BY vault_id, observed_at DESC) AS newest, generate_series(1, 365) AS n,
     LATERAL jsonb_populate_record(NULL::holder_snapshot, to_jsonb(newest) || jsonb_build_object('observed_at', newest.observed_at - n * interval '2 days')) AS made ON CONFLICT DO NOTHING;
INSERT INTO vault_position (holder, vault_id, balance_raw, share, source, observed_at, content_hash)
SELECT '0x' || lpad(to_hex(n), 40, '0'), v.id, '1000000', 0.01, 'years', v.observed_at, '\x00' FROM vault v, generate_series(1, 100) AS n ON CONFLICT DO NOTHING;
INSERT INTO reward
SELECT made.*
FROM (SELECT DISTINCT ON (vault_id, source, campaign_id, side) * FROM reward
      ORDER BY vault_id, source, campaign_id, side, observed_at DESC) AS newest, generate_series(1, 182) AS n,
     LATERAL jsonb_populate_record(NULL::reward, to_jsonb(newest) || jsonb_build_object('observed_at', newest.observed_at - n * interval '4 days')) AS made ON CONFLICT DO NOTHING;

-- Readings of a chain: two fields, every fourth day.
INSERT INTO chain_reading
SELECT v.id, field, '1.5', v.chain_id, 200000 - n, '0x' || md5(n::text) || md5(n::text), '[{"method": "eth_call", "contract": "0x0000000000000000000000000000000000000001", "data": "0x01020304", "answer": "0x"}]',
       2, 2, 'chain:' || v.chain_id, v.observed_at - n * interval '4 days', '\x00'
FROM vault v, unnest(ARRAY['price_per_share', 'tvl_native']) AS field, generate_series(1, 182) AS n ON CONFLICT DO NOTHING;

-- Events with their links and their rows of the feed, and what was told of them.
INSERT INTO event
SELECT made.*
FROM (SELECT * FROM event WHERE state = 'published' ORDER BY id LIMIT 40) AS e, generate_series(1, 1000) AS n,
     LATERAL jsonb_populate_record(NULL::event, to_jsonb(e) || jsonb_build_object('id', e.id % 1000000000 + n * 1000000000::bigint, 'event_key', e.event_key || '-' || n,
            'group_key', NULL, 'occurred_at', e.occurred_at - n * interval '12 hours')) AS made ON CONFLICT DO NOTHING;
INSERT INTO event_link
SELECT made.*
FROM event_link l JOIN (SELECT id FROM event WHERE state = 'published' AND id NOT IN (SELECT id FROM event WHERE event_key ~ '-[0-9]+$') ORDER BY id LIMIT 40) AS e
     ON e.id = l.event_id, generate_series(1, 1000) AS n,
     LATERAL jsonb_populate_record(NULL::event_link, to_jsonb(l) || jsonb_build_object('event_id', l.event_id % 1000000000 + n * 1000000000::bigint)) AS made ON CONFLICT DO NOTHING;
INSERT INTO event_feed
SELECT made.*
FROM (SELECT * FROM event_feed ORDER BY event_id LIMIT 40) AS f, generate_series(1, 1000) AS n,
     LATERAL jsonb_populate_record(NULL::event_feed, to_jsonb(f) || jsonb_build_object('event_id', f.event_id % 1000000000 + n * 1000000000::bigint, 'group_key', NULL,
            'occurred_at', f.occurred_at - n * interval '12 hours')) AS made ON CONFLICT DO NOTHING;

-- Assets: totals by day of symbols. Research: a sample and a prediction a week.
INSERT INTO symbol_rollup SELECT (now.at - n * interval '1 day')::date, now.at
FROM (SELECT max(observed_at) AS at FROM vault_state) AS now, generate_series(1, 730) AS n ON CONFLICT DO NOTHING;
INSERT INTO symbol_day SELECT DISTINCT upper(v.asset_symbol), r.day, 1e6, 0.05, 10 FROM vault v, symbol_rollup r
WHERE v.asset_symbol IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO research_sample
SELECT 'total_score', horizon, now.at - n * interval '7 days', v.id, 5000, false, 0, false
FROM vault v, (SELECT max(observed_at) AS at FROM vault_state) AS now, unnest(ARRAY[7, 30, 90]) AS horizon, generate_series(1, 104) AS n
ON CONFLICT DO NOTHING;
INSERT INTO research_prediction (vault_id, horizon_days, made_at, due_at, model_version, score, tier, base_price, base_at, outcome,
                                 drawdown_bp, resolved_at)
SELECT v.id, horizon, made, made + horizon * interval '1 day', 'rds-1.0.0', 5000, 'Core', 1, made, 'no_loss', 0, made + interval '91 days'
FROM vault v, (SELECT max(observed_at) AS at FROM vault_state) AS now, unnest(ARRAY[7, 30, 90]) AS horizon, generate_series(15, 104) AS n,
     LATERAL (SELECT now.at - n * interval '7 days' AS made) AS m ON CONFLICT DO NOTHING;

-- Decisions, and a snapshot of the exposure graph each hour.
INSERT INTO graph_snapshot
SELECT md5(n::text) || md5('s' || n), now.at - n * interval '1 hour', '{"publications": []}'
FROM (SELECT max(observed_at) AS at FROM vault_state) AS now, generate_series(1, 17520) AS n ON CONFLICT DO NOTHING;
INSERT INTO decision (org_id, subject, decision_id, snapshot_id, key_id, envelope, signature, created_at, attempt)
SELECT n % 50, md5(n::text) || md5('a' || n), md5('d' || n) || md5('e' || n), md5((n % 17520 + 1)::text) || md5('s' || (n % 17520 + 1)), 'key-1',
       repeat('x', 900), '0x' || repeat('ab', 65), now.at - n * interval '10 minutes', 0
FROM (SELECT max(observed_at) AS at FROM vault_state) AS now, generate_series(1, 50000) AS n ON CONFLICT DO NOTHING;

-- Deliveries of webhooks.
INSERT INTO webhook_event (event_id, event_type, seq, occurred_at, body, created_at)
SELECT 'years-' || n, 'event.published', -n, now.at - n * interval '1 minute', '{}', now.at - n * interval '1 minute'
FROM (SELECT max(observed_at) AS at FROM vault_state) AS now, generate_series(1, 20000) AS n ON CONFLICT DO NOTHING;
INSERT INTO webhook_delivery (subscription_id, event, state, attempt, due, created_at, finished_at)
SELECT s, id, 'delivered', 1, created_at, created_at, created_at FROM webhook_event, generate_series(1, 5) AS s WHERE event_id LIKE 'years-%' ON CONFLICT DO NOTHING;
INSERT INTO webhook_attempt (delivery_id, lease_token, attempt, ended_at, duration_ms, http_status)
SELECT id, id, 1, finished_at, 5, 200 FROM webhook_delivery WHERE finished_at IS NOT NULL ON CONFLICT DO NOTHING;

-- A day of operations, which the sequencer numbers.
INSERT INTO push_operation (recorded_at, family, stream_op, event_id, vault_ids, chain_ids, body)
SELECT now.at - n * interval '2 seconds', 'event.published', 'published', 'years-' || n, ARRAY[]::text[], ARRAY[]::bigint[], convert_to('{}', 'UTF8')
FROM (SELECT max(observed_at) AS at FROM vault_state) AS now, generate_series(1, 20000) AS n ON CONFLICT DO NOTHING;
