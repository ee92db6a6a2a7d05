// The public vault list with Fastify and pg: one process, a pool, prepared statements, and a response schema for a compiled
// serialiser. DATABASE_URL is the database and PORT the listening port.
//
// It reads `peer_vault`, a table made for it: every field of the list is a column, and every order and filter has an index
// (bench/src/origin/peer_table.rs).

import Fastify from 'fastify';
import pg from 'pg';

const { DATABASE_URL, PORT } = process.env;
const CONNECTIONS = 8;

const text = { type: 'string' };
const number = { type: 'number' };
const integer = { type: 'integer' };
const boolean = { type: 'boolean' };
const nullable = (schema) => ({ ...schema, nullable: true });

/** The fields of a row in output order. */
const ROW = {
  id: text,
  name: text,
  address: text,
  protocol_id: text,
  protocol_name: text,
  chain_id: integer,
  chain_name: text,
  asset_symbol: nullable(text),
  tvl_usd: number,
  apr_net: nullable(number),
  base_apr: nullable(number),
  utilization: nullable(number),
  borrow_apr: nullable(number),
  borrow_reward_apr: nullable(number),
  borrow_apr_net: nullable(number),
  borrow_incentive_status: text,
  has_borrow_rewards: boolean,
  borrow_status: text,
  gross_interest_apy: nullable(number),
  active_loans_usd: nullable(number),
  available_liquidity_usd: nullable(number),
  liquidity_deficit_usd: nullable(number),
  liquidity_status: text,
  total_score: nullable(number),
  risk_tier: nullable(text),
  strategy_type: nullable(text),
  curator_name: nullable(text),
  is_audited: boolean,
  deposit_status: text,
  withdraw_status: text,
  is_depositable: nullable(boolean),
  deposit_capacity_usd: nullable(number),
  freshness_seconds: nullable(integer),
  last_synced_at: nullable(text),
  score_status: text,
  score_updated_at: nullable(text),
  tvl_status: text,
  real_yield_share: nullable(number),
  curator_id: nullable(text),
  score_basis: text,
  score_coverage: number,
  lowest_score: nullable(number),
  highest_score: nullable(number),
};

const ANSWER = {
  type: 'object',
  properties: {
    data: { type: 'array', items: { type: 'object', properties: ROW } },
    meta: { type: 'object', properties: { page: integer, limit: integer, total: integer, totalPages: integer } },
  },
};

const SORTS = [
  'tvl_usd', 'available_liquidity_usd', 'liquidity_deficit_usd', 'apr_net', 'borrow_apr_net', 'borrow_reward_apr', 'utilization',
  'real_yield_share', 'name', 'total_score', 'last_synced_at',
];

const QUERY = {
  type: 'object',
  properties: {
    chain: text,
    riskTier: text,
    minTvl: { type: 'number', minimum: 0 },
    minRiskScore: { type: 'number', minimum: 0, maximum: 10 },
    sortBy: { type: 'string', enum: SORTS, default: 'tvl_usd' },
    sortOrder: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
    page: { type: 'integer', minimum: 1, default: 1 },
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
  },
};

const COLUMNS = Object.keys(ROW)
  .map((name) => (name === 'freshness_seconds' ? 'greatest(0, floor(extract(epoch FROM now() - last_synced_at)))::int AS freshness_seconds' : name))
  .join(', ');

/** The SQL condition of each filter, and the conversion of its value. */
const FILTERS = {
  chain: ['chain_slug = ANY($)', (words) => words.toLowerCase().split(',')],
  riskTier: ['tier = ANY($)', (words) => words.toLowerCase().split(',')],
  minTvl: ['tvl_usd >= $', (least) => least],
  minRiskScore: ['total_score >= $', (least) => least],
};

/** The prepared statements by combination of filters and order. */
const statements = new Map();

function statement(filters, sortBy, sortOrder) {
  const kind = `${filters.join(' ')} ${sortBy} ${sortOrder}`;
  let known = statements.get(kind);
  if (known === undefined) {
    const conditions = filters.map((name, at) => FILTERS[name][0].replace('$', `$${at + 1}`));
    const where = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
    const order = `${sortBy === 'name' ? 'lower(name)' : sortBy} ${sortOrder} NULLS LAST, id`;
    const [limit, offset] = [filters.length + 1, filters.length + 2];
    known = {
      name: `list-${statements.size}`,
      text: `SELECT ${COLUMNS}, (SELECT count(*)::int FROM peer_vault ${where}) AS total FROM peer_vault ${where} ORDER BY ${order} LIMIT $${limit} OFFSET $${offset}`,
      count: `SELECT count(*)::int AS total FROM peer_vault ${where}`,
    };
    statements.set(kind, known);
  }
  return known;
}

const [INT8, TIMESTAMPTZ] = [20, 1184];
pg.types.setTypeParser(INT8, Number);
// Converts '2026-11-22 10:00:00.25+00' to the API's form without an intermediate Date.
pg.types.setTypeParser(TIMESTAMPTZ, (written) => {
  const [date, time] = written.slice(0, -3).split(' ');
  const [seconds, fraction = ''] = time.split('.');
  return `${date}T${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
});

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: CONNECTIONS, options: '-c timezone=UTC' });
const server = Fastify();

server.get('/v1/vaults', { schema: { querystring: QUERY, response: { 200: ANSWER } } }, async ({ query }) => {
  const { page, limit, sortBy, sortOrder } = query;
  const filters = Object.keys(FILTERS).filter((name) => query[name] !== undefined);
  const { name, text, count } = statement(filters, sortBy, sortOrder);
  const values = filters.map((filter) => FILTERS[filter][1](query[filter]));
  const { rows: data } = await pool.query({ name, text, values: [...values, limit, (page - 1) * limit] });
  // A page after the last one has no row with the total.
  const [{ total }] = data.length > 0 ? data : (await pool.query({ name: `${name}-count`, text: count, values })).rows;
  return { data, meta: { page, limit, total, totalPages: Math.ceil(total / limit) } };
});

await server.listen({ host: '127.0.0.1', port: Number(PORT) });
