// The dashboard's rows and panels: title, unit, and queries with their legends. `dashboard.mjs` makes Grafana's JSON from them.

/** The origins that are selected in the dashboard. */
const ORIGINS = 'job="rds-origin",instance=~"$instance"';
const RATE = '[$__rate_interval]';

/** A rate of a counter, summed over the selected origins by these labels. */
const rate = (metric, by, matchers = '') => `sum by (${by}) (rate(${metric}{${ORIGINS}${matchers}}${RATE}))`;
/** A gauge of each selected origin. */
const each = (metric) => `${metric}{${ORIGINS}}`;
/** A gauge that every process reads from the database. */
const alike = (metric, matchers = '') => `max(${metric}{${ORIGINS}${matchers}})`;
/** A quantile of a histogram by these labels. */
const quantile = (share, metric, by, matchers = '') =>
  `histogram_quantile(${share}, sum by (${by ? `${by}, ` : ''}le) (rate(${metric}_bucket{${ORIGINS}${matchers}}${RATE})))`;

const PER_ORIGIN = '{{instance}}';

/**
 * Each panel has `queries` as `[expression, legend]`, a Grafana `unit`, and the runbook section (`look`) of origin/OPERATING.md. `red` is the value
 * from which it is red. `elsewhere` marks panels about what a stack may not have: chains that are read, or exporters of others.
 */
export const ROWS = [
  {
    title: 'Objectives',
    panels: [
      { title: 'Failed answers, 1 h', kind: 'stat', unit: 'percentunit', red: 0.0144, look: 'an-error-budget-burns', queries: [['rds:answers_failed:ratio_rate1h', 'failed']] },
      { title: 'Old facts, 1 h', kind: 'stat', unit: 'percentunit', red: 0.072, look: 'an-error-budget-burns', queries: [['rds:facts_old:ratio_time1h', 'old']] },
      { title: 'Late operations, 1 h', kind: 'stat', unit: 'percentunit', red: 0.144, look: 'an-error-budget-burns', queries: [['rds:push_late:ratio_rate1h', 'late']] },
      {
        title: 'Budget used, as a multiple of the even rate (6 h)',
        unit: 'none',
        red: 6,
        look: 'an-error-budget-burns',
        queries: [
          ['rds:answers_failed:ratio_rate6h / 0.001', 'availability'],
          ['rds:facts_old:ratio_time6h / 0.005', 'freshness'],
          ['rds:push_late:ratio_rate6h / 0.01', 'push'],
        ],
      },
    ],
  },
  {
    title: 'Answers',
    panels: [
      { title: 'Answers by who gave them', unit: 'reqps', look: 'the-edge-answers-errors', queries: [[rate('rds_answers_total', 'by, outcome'), '{{by}} {{outcome}}']] },
      { title: 'Requests at the origin by status', unit: 'reqps', look: 'the-edge-answers-errors', queries: [[rate('rds_requests_total', 'status'), '{{status}}']] },
      { title: 'Busiest routes', unit: 'reqps', look: 'answers-are-slow', queries: [[`topk(10, ${rate('rds_requests_total', 'route')})`, '{{route}}']] },
      {
        title: 'Time of a request',
        unit: 's',
        red: 1,
        look: 'answers-are-slow',
        exemplars: true,
        queries: [0.5, 0.99].map((share) => [quantile(share, 'rds_request_seconds', '', ',route!="Admin"'), `${share * 100} %`]),
      },
      { title: 'Slowest routes, 99 %', unit: 's', red: 1, look: 'answers-are-slow', queries: [[`topk(10, ${quantile(0.99, 'rds_request_seconds', 'route', ',route!="Admin"')})`, '{{route}}']] },
      { title: 'Callers', unit: 'reqps', look: 'the-edge-answers-errors', queries: [[rate('rds_calls_total', 'listener, caller'), '{{listener}} {{caller}}']] },
      {
        title: 'Refused before they were known',
        unit: 'ops',
        look: 'a-crowd-at-a-listener',
        queries: [
          [rate('rds_assertions_refused_total', 'instance'), 'assertions at {{instance}}'],
          [rate('rds_connections_refused_total', 'listener'), 'connections refused, {{listener}}'],
          [rate('rds_connections_ended_total', 'listener'), 'connections ended, {{listener}}'],
        ],
      },
    ],
  },
  {
    title: 'Data',
    panels: [
      {
        title: 'Age of readings',
        unit: 's',
        red: 5400,
        look: 'data-is-stale',
        queries: [
          [alike('rds_vault_newest_reading_age_seconds'), 'newest'],
          [alike('rds_vault_median_reading_age_seconds'), 'median vault'],
        ],
      },
      { title: 'Age of the catalog', unit: 's', red: 60, look: 'data-is-stale', queries: [[each('rds_catalog_age_seconds'), PER_ORIGIN]] },
      {
        title: 'Batches',
        unit: 'ops',
        look: 'data-is-stale',
        queries: [
          [rate('rds_ingest_batches_total', 'instance'), 'committed at {{instance}}'],
          [rate('rds_ingest_batches_refused_total', 'instance'), 'refused at {{instance}}'],
        ],
      },
      {
        title: 'Score runs',
        unit: 's',
        look: 'a-score-run-failed-or-was-refused',
        queries: [
          [alike('rds_score_run_age_seconds'), 'age of the latest'],
          [`3 * ${alike('rds_score_run_every_seconds')}`, 'overdue from'],
        ],
      },
      { title: 'Score runs by outcome', unit: 'short', look: 'a-score-run-failed-or-was-refused', queries: [[`sum by (outcome) (increase(rds_score_runs_total{${ORIGINS}}[1h]))`, '{{outcome}}, 1 h']] },
      { title: 'Fail-safe mode (0 normal, 1 degraded, 2 closed)', kind: 'stat', unit: 'none', red: 1, look: 'a-score-run-failed-or-was-refused', queries: [[alike('rds_fail_safe_mode'), 'mode']] },
      { title: 'Vaults in the catalog', unit: 'short', look: 'data-is-stale', queries: [[each('rds_catalog_rows'), PER_ORIGIN]] },
      { title: 'Age of the exposure graph', unit: 's', red: 3600, look: 'data-is-stale', queries: [[each('rds_graph_snapshot_age_seconds'), PER_ORIGIN]] },
    ],
  },
  {
    title: 'Push',
    panels: [
      { title: 'Journal lag', unit: 's', red: 30, look: 'the-journal-lags', queries: [[each('rds_journal_lag_seconds'), PER_ORIGIN]] },
      { title: 'Steps from commit to subscriber, 99 %', unit: 's', red: 0.25, look: 'where-the-time-of-an-event-goes', exemplars: true, queries: [[quantile(0.99, 'rds_push_step_seconds', 'step'), '{{step}}']] },
      { title: 'Operations', unit: 'ops', look: 'the-journal-lags', queries: [[rate('rds_journal_numbered_total', 'instance'), 'numbered by {{instance}}']] },
      {
        title: 'Streams',
        unit: 'short',
        look: 'stream-clients-are-slow',
        queries: [
          [each('rds_streams_open'), 'open at {{instance}}'],
          [each('rds_streams_live'), 'up to date at {{instance}}'],
        ],
      },
      { title: 'Gaps', unit: 'ops', look: 'stream-clients-are-slow', queries: [[rate('rds_stream_gaps_total', 'reason'), '{{reason}}']] },
      { title: 'Webhook attempts', unit: 'ops', look: 'webhooks-lag-or-are-disabled', queries: [[rate('rds_webhook_attempts_total', 'outcome'), '{{outcome}}']] },
      { title: 'Oldest due delivery', unit: 's', red: 300, look: 'webhooks-lag-or-are-disabled', queries: [[alike('rds_webhook_lag_seconds'), 'waits']] },
      {
        title: 'Deliveries',
        unit: 'short',
        look: 'webhooks-lag-or-are-disabled',
        queries: [
          [alike('rds_webhook_waiting'), 'waiting'],
          [alike('rds_webhook_fanout_behind'), 'operations not fanned out'],
          [each('rds_webhook_in_flight'), 'running at {{instance}}'],
        ],
      },
      { title: 'Webhooks by status', unit: 'short', look: 'webhooks-lag-or-are-disabled', queries: [[`max by (status) (rds_webhook_subscriptions{${ORIGINS}})`, '{{status}}']] },
    ],
  },
  {
    title: 'Link with the edge',
    panels: [
      { title: 'Facts that the edge may not know', unit: 's', red: 60, look: 'the-edge-does-not-hear-of-changes', queries: [[each('rds_edge_tags_lag_seconds'), PER_ORIGIN]] },
      { title: 'Changed keys that wait', unit: 'short', red: 1, look: 'the-edge-does-not-hear-of-changes', queries: [[each('rds_edge_news_waiting'), PER_ORIGIN]] },
      { title: 'Last request of the edge', unit: 's', red: 900, look: 'the-edge-answers-errors', queries: [[each('rds_edge_heard_age_seconds'), PER_ORIGIN]] },
      { title: 'Updates of the replica', unit: 'ops', look: 'the-edge-does-not-hear-of-changes', queries: [[rate('rds_replica_updates_total', 'content'), '{{content}}']] },
    ],
  },
  {
    title: 'Database',
    panels: [
      { title: 'Database answers', kind: 'stat', unit: 'none', look: 'the-database-is-down', queries: [[each('rds_db_up'), PER_ORIGIN]] },
      { title: 'Time of a small query', unit: 's', red: 0.1, look: 'answers-are-slow', queries: [[each('rds_db_answer_seconds'), PER_ORIGIN]] },
      {
        title: 'Connections',
        unit: 'short',
        look: 'answers-are-slow',
        queries: [
          [`rds_db_connections{${ORIGINS}} - rds_db_connections_idle{${ORIGINS}}`, 'busy at {{instance}}'],
          [each('rds_db_connections_limit'), 'limit of {{instance}}'],
          [alike('rds_db_server_connections'), 'of all clients'],
        ],
      },
      { title: 'Oldest writing transaction', unit: 's', red: 300, look: 'the-journal-lags', queries: [[alike('rds_db_oldest_writer_seconds'), 'oldest']] },
      { title: 'Size', unit: 'bytes', look: 'the-disk-is-full', queries: [[alike('rds_db_size_bytes'), 'database']] },
      { title: 'Writes refused', kind: 'stat', unit: 'none', red: 1, look: 'the-disk-is-full', queries: [[each('rds_db_writes_refused'), PER_ORIGIN]] },
      { title: 'Disk', unit: 'percentunit', look: 'the-disk-is-full', elsewhere: true, queries: [['node_filesystem_avail_bytes{mountpoint="/var/lib/postgresql"} / node_filesystem_size_bytes{mountpoint="/var/lib/postgresql"}', 'free']] },
    ],
  },
  {
    title: 'Chains',
    panels: [
      { title: 'Age of the newest block', unit: 's', red: 7200, look: 'a-chain-is-not-read', elsewhere: true, queries: [[`time() - max by (chain) (rds_chain_block_time_seconds{${ORIGINS}})`, '{{chain}}']] },
      { title: 'Failed readings', unit: 'ops', look: 'a-chain-is-not-read', elsewhere: true, queries: [[rate('rds_chain_failures_total', 'chain, reason'), '{{chain}} {{reason}}']] },
      { title: 'Failures of providers', unit: 'ops', look: 'a-chain-is-not-read', elsewhere: true, queries: [[rate('rds_chain_provider_failures_total', 'operator, kind'), '{{operator}} {{kind}}']] },
    ],
  },
  {
    title: 'Processes',
    panels: [
      { title: 'Memory', unit: 'bytes', red: 4e9, look: 'answers-are-slow', queries: [[each('process_resident_memory_bytes'), PER_ORIGIN]] },
      { title: 'Processor', unit: 'short', look: 'answers-are-slow', queries: [[rate('process_cpu_seconds_total', 'instance'), '{{instance}}, cores']] },
      { title: 'Scheduling delay', unit: 's', red: 0.5, look: 'answers-are-slow', queries: [[each('rds_runtime_delay_seconds'), PER_ORIGIN]] },
      { title: 'Files and sockets', unit: 'percentunit', red: 0.8, look: 'stream-clients-are-slow', queries: [[`process_open_fds{${ORIGINS}} / process_max_fds{${ORIGINS}}`, PER_ORIGIN]] },
      { title: 'Clock ahead of the database', unit: 's', red: 5, look: 'a-clock-is-wrong', queries: [[each('rds_webhook_clock_offset_seconds'), PER_ORIGIN]] },
      { title: 'Running since', kind: 'stat', unit: 's', look: 'the-origin-is-down', queries: [[`time() - process_start_time_seconds{${ORIGINS}}`, PER_ORIGIN]] },
      { title: 'Versions', kind: 'stat', unit: 'none', look: 'the-origin-is-down', queries: [[`count by (version) (rds_build_info{${ORIGINS}})`, '{{version}}']] },
      { title: 'Spans of traces', unit: 'ops', look: 'traces', queries: [[rate('rds_trace_spans_total', 'outcome'), '{{outcome}}']] },
      { title: 'Log lines dropped', unit: 'ops', look: 'answers-are-slow', queries: [[rate('rds_log_lines_dropped_total', 'instance'), PER_ORIGIN]] },
    ],
  },
];
