// The rows of the vault list in the isolate's memory: loaded once from the origin, presorted by every field, and served as the origin
// serves them. Rows do not change after they were loaded.

import { ask, passed } from './origin.mjs';

const PAGE = 100;
/** Sort fields with the comparison of two rows' values; rows without a value come last in both directions. */
const SORTS = {
  tvl_usd: numbers,
  available_liquidity_usd: numbers,
  liquidity_deficit_usd: numbers,
  apr_net: numbers,
  borrow_apr_net: numbers,
  borrow_reward_apr: numbers,
  utilization: numbers,
  real_yield_share: numbers,
  name: names,
  total_score: numbers,
  last_synced_at: texts,
};
/** Filters that list words, with the row's field. */
const WORDS = { chain: 'chain_id', protocol: 'protocol_id', curator: 'curator_id', asset: 'asset_symbol', riskTier: 'risk_tier' };
const NUMBERS = ['minTvl', 'minRiskScore', 'maxRiskScore'];
const FLAGS = ['audited', 'highConfidence', 'depositable'];
const ANSWERED = new Set([...Object.keys(WORDS), ...NUMBERS, ...FLAGS, 'sortBy', 'sortOrder', 'page', 'limit']);
const encoder = new TextEncoder();

let table;

/** The answer to a target: `{ status, body, headers }`; undefined if it needs facts that the rows lack. */
export async function fromRows(search, principal, env) {
  // A promise of another request must not be awaited, so requests that arrive during the first load each load the rows.
  table ??= await tableOf(await load(principal, env));
  const query = read(new URLSearchParams(search));
  return query && answer(query);
}

/** Loads the rows page by page, each with its text as the origin sent it. */
async function load(principal, env) {
  const rows = [];
  const [chains] = await page('/v1/chains', principal, env);
  const slugs = new Map(chains.data.map((chain) => [chain.slug, chain.chain_id]));
  let headers;
  for (let number = 1, pages = 1; number <= pages; number++) {
    const [list, text, head] = await page(`/v1/vaults?limit=${PAGE}&page=${number}`, principal, env);
    const texts = split(text);
    list.data.forEach((row, at) => rows.push({ ...row, text: texts[at] }));
    pages = list.meta.totalPages;
    headers = head;
  }
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { rows, slugs, headers };
}

async function page(target, principal, env) {
  const response = await ask(target, principal, undefined, env);
  if (response.status !== 200) throw new Error(`${target}: ${response.status}`);
  const text = await response.text();
  return [JSON.parse(text), text, passed(response.headers)];
}

/** The texts of the rows in a list's body. */
function split(text) {
  const texts = [];
  let [depth, from, quoted] = [0, 0, false];
  for (let at = text.indexOf('[') + 1; depth > 0 || text[at] !== ']'; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter === '\\') at++;
      else if (letter === '"') quoted = false;
    } else if (letter === '"') quoted = true;
    else if (letter === '{' || letter === '[') {
      if (depth++ === 0) from = at;
    } else if (letter === '}' || letter === ']') {
      if (--depth === 0) texts.push(text.slice(from, at + 1));
    }
  }
  return texts;
}

/** Columns for the filters, and the rows' order by every sort field. */
async function tableOf({ rows, slugs, headers }) {
  const column = (value) => Float64Array.from(rows, (row) => value(row) ?? Number.NaN);
  const versions = await Promise.all(rows.map(async ({ text }) => {
    // A row's age is not part of its version.
    const stable = text.replace(/"freshness_seconds":\d+/, '');
    return new DataView(await crypto.subtle.digest('SHA-256', encoder.encode(stable)));
  }));
  const confident = ({ total_score, apr_net }) => total_score >= 7.5 && apr_net !== null && apr_net >= 0.03 && apr_net <= 0.1;
  const orders = {};
  for (const [field, compare] of Object.entries(SORTS)) {
    const order = (sign) => Uint32Array.from(rows.keys()).sort((a, b) => {
      const [left, right] = [rows[a][field], rows[b][field]];
      if (left === null || right === null) return (left === null) - (right === null) || a - b;
      return sign * compare(left, right) || a - b;
    });
    orders[field] = { asc: order(1), desc: order(-1) };
  }
  return {
    slugs,
    headers,
    orders,
    bytes: rows.map(({ text }) => encoder.encode(`${text},`)),
    versions: [0, 4].map((at) => Uint32Array.from(versions, (view) => view.getUint32(at))),
    words: Object.fromEntries(Object.entries(WORDS).map(([name, field]) => [name, dictionary(rows.map((row) => row[field]))])),
    tvl: column((row) => row.tvl_usd),
    score: column((row) => row.total_score),
    flags: {
      audited: Uint8Array.from(rows, (row) => row.is_audited),
      highConfidence: Uint8Array.from(rows, confident),
      depositable: Uint8Array.from(rows, (row) => row.deposit_status !== 'closed'),
    },
  };
}

/** A column of words as numbers, and the number of each word in lower case. */
function dictionary(values) {
  const numbers = new Map();
  const rows = Uint32Array.from(values, (value) => {
    const word = String(value).toLowerCase();
    if (!numbers.has(word)) numbers.set(word, numbers.size);
    return numbers.get(word);
  });
  return { numbers, rows };
}

/** The parsed query; undefined if it needs facts that the rows lack, or if the origin may refuse it. */
function read(given) {
  const query = { words: [], flags: [], sortBy: 'tvl_usd', sortOrder: 'desc', page: 1, limit: 20, minTvl: -Infinity };
  for (const [name, text] of given) {
    if (!ANSWERED.has(name)) return undefined;
    if (name in WORDS) query.words.push(wanted(name, text));
    else if (FLAGS.includes(name)) query.flags.push([table.flags[name], text.toLowerCase() === 'true' ? 1 : 0]);
    else if (NUMBERS.includes(name) || name === 'page' || name === 'limit') query[name] = Number(text);
    else query[name] = text;
  }
  query.limit = Math.min(query.limit, PAGE);
  query.hasScore = query.minRiskScore !== undefined || query.maxRiskScore !== undefined;
  const { page, limit, sortBy, sortOrder, minTvl } = query;
  const valid = Number.isInteger(page) && page > 0 && Number.isInteger(limit) && limit > 0 && !Number.isNaN(minTvl);
  return valid && table.orders[sortBy]?.[sortOrder] ? query : undefined;
}

/** Which numbers of a column of words a filter lets pass. */
function wanted(name, text) {
  const { numbers, rows } = table.words[name];
  const passes = new Uint8Array(numbers.size);
  for (const word of text.toLowerCase().split(',')) {
    const number = numbers.get(name === 'chain' ? String(table.slugs.get(word) ?? word) : word);
    if (number !== undefined) passes[number] = 1;
  }
  return { rows, passes };
}

/** The page of the rows that match, with their total. */
function answer(query) {
  const { tvl, score } = table;
  const { words, flags, hasScore, minTvl, minRiskScore = 0, maxRiskScore = 10, page, limit } = query;
  const order = table.orders[query.sortBy][query.sortOrder];
  const [from, to] = [(page - 1) * limit, page * limit];
  const found = [];
  let total = 0;
  next: for (let at = 0; at < order.length; at++) {
    const row = order[at];
    if (tvl[row] < minTvl) continue;
    if (hasScore && !(score[row] >= minRiskScore && score[row] <= maxRiskScore)) continue;
    for (let i = 0; i < words.length; i++) if (words[i].passes[words[i].rows[row]] === 0) continue next;
    for (let i = 0; i < flags.length; i++) if (flags[i][0][row] !== flags[i][1]) continue next;
    if (total >= from && total < to) found.push(row);
    total++;
  }
  const meta = `"meta":{"page":${page},"limit":${limit},"total":${total},"totalPages":${Math.ceil(total / limit)}}}`;
  const own = { etag: tag(found, meta), 'x-cache': 'MISS', 'cache-status': 'hono-rows; hit' };
  const headers = { 'cache-control': 'public, max-age=0, must-revalidate', ...table.headers, ...own };
  return { status: 200, body: body(found, meta), headers };
}

/** `{"data":[…],"meta":{…}}`. Each row's bytes end with a comma; the last comma is overwritten. */
function body(found, meta) {
  const { bytes } = table;
  const [head, tail] = [encoder.encode('{"data":['), encoder.encode(`],${meta}`)];
  let length = head.length + tail.length - (found.length > 0 ? 1 : 0);
  for (let at = 0; at < found.length; at++) length += bytes[found[at]].length;
  const out = new Uint8Array(length);
  out.set(head);
  let end = head.length;
  for (let at = 0; at < found.length; at++) {
    const row = bytes[found[at]];
    if (at + 1 < found.length) out.set(row, end);
    else out.set(row.subarray(0, row.length - 1), end);
    end += row.length;
  }
  out.set(tail, length - tail.length);
  return out;
}

/** A weak ETag from the versions of the page's rows and the page's meta. */
function tag(found, meta) {
  const [first, second] = table.versions;
  let [a, b] = [2166136261, 52711];
  for (let at = 0; at < meta.length; at++) {
    a = Math.imul(a ^ meta.charCodeAt(at), 16777619);
    b = Math.imul(b ^ meta.charCodeAt(at), 1597334677);
  }
  for (let at = 0; at < found.length; at++) {
    a = Math.imul(a ^ first[found[at]], 16777619);
    b = Math.imul(b ^ second[found[at]], 1597334677);
  }
  return `W/"${(a >>> 0).toString(36)}-${(b >>> 0).toString(36)}"`;
}

function numbers(left, right) {
  return left - right;
}

function names(left, right) {
  return texts(left.toLowerCase(), right.toLowerCase());
}

function texts(left, right) {
  return left < right ? -1 : left > right ? 1 : 0;
}
