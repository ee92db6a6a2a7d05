// A stand-in for the API: it answers with the examples of the OpenAPI document, as they are or changed by the document's schemas.

import { existsSync, readFileSync } from 'node:fs';

const openapi = new URL('../../openapi/', import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, openapi), 'utf8'));
export const DOCUMENT = read('openapi.json');

/** The example of an operation. */
export const example = (operation) => read(`examples/${operation}.json`);

/** The node that a node refers to. */
export function follow(node) {
  const parts = node?.$ref?.slice(2).split('/');
  return parts ? follow(parts.reduce((at, name) => at[name], DOCUMENT)) : node;
}

const ROUTES = Object.entries(DOCUMENT.paths)
  .filter(([, methods]) => methods.get)
  .map(([path, { get }]) => ({ path, get, parts: path.split('/') }))
  // Paths with fewer parameters come first.
  .sort((a, b) => a.path.split('{').length - b.path.split('{').length);

/** The operation at a path of the API. */
export function routeOf(pathname) {
  const given = pathname.split('/');
  const fits = ({ parts }) => parts.length === given.length && parts.every((part, at) => part.startsWith('{') || part === given[at]);
  return ROUTES.find(fits);
}

/** The schema of the operation's answer. */
const schemaOf = ({ get }) => follow(get.responses['200']).content['application/json'].schema;

/**
 * A value with every part replaced by `change(part, schema, name)`, which returns undefined for what stays. Members that a schema does not
 * name are given with the schema null.
 */
export function changed(value, schema, change, name = '') {
  const resolved = follow(schema);
  const options = (resolved?.anyOf ?? resolved?.oneOf ?? [resolved]).map(follow);
  const nullable = options.some((one) => [one?.type].flat().includes('null'));
  const replaced = change(value, { nullable, schema: options.find((one) => one?.type !== 'null') ?? null }, name);
  if (replaced !== undefined) return replaced;
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const kind = options.find((one) => (isObject ? one?.properties || one?.additionalProperties : Array.isArray(value) && one?.items)) ?? null;
  if (Array.isArray(value)) return value.map((item) => changed(item, kind?.items ?? null, change, name));
  if (!isObject) return value;
  const members = Object.entries(value);
  const of = (member) => kind?.properties?.[member] ?? (typeof kind?.additionalProperties === 'object' ? kind.additionalProperties : null);
  return Object.fromEntries(members.map(([member, one]) => [member, changed(one, of(member), change, member)]));
}

/** The body of an operation's example, changed by its schema. */
export function exampleAt(pathname, change) {
  const route = routeOf(pathname);
  if (!route || !existsSync(new URL(`examples/${route.get.operationId}.json`, openapi))) return undefined;
  const { response } = example(route.get.operationId);
  return change ? changed(response, schemaOf(route), change) : response;
}

/** An error as the API writes it. */
export function refusal(status, code, headers = {}, message = `This is ${code}.`) {
  return Response.json({ error: { code, message, request_id: 'r-1' } }, { status, headers });
}

/**
 * An API. `special` maps paths, or is a function of the path, to what answers there: a body, a Response or a function of the request;
 * all others are answered by their examples, changed by `change`. `asked` collects the requests.
 */
export function api({ special = {}, change, headers = {} } = {}) {
  const asked = [];
  const ask = async (request) => {
    asked.push(request);
    const { pathname } = new URL(request.url);
    let answer = typeof special === 'function' ? special(pathname) : special[pathname];
    if (typeof answer === 'function') answer = await answer(request);
    if (answer instanceof Response) return answer.clone();
    const body = answer ?? exampleAt(pathname, change);
    return body === undefined ? refusal(404, 'NOT_FOUND') : Response.json(body, { headers });
  };
  return { ask, asked };
}

const VAULT = example('VaultById').path.id;
const id = (operation) => encodeURIComponent(example(operation).path.id);
const asset = example('AssetDetail').path;
const oracle = example('OracleByAddress').path;

/** An address of every page, the API path that its facts come from, and a text of its example that it shows. */
export const PAGES = {
  vaults: ['/vaults', '/v1/vaults', 'Quillfish Staked Ether Pool'],
  vault: [`/vaults/${VAULT}`, `/v1/vaults/${VAULT}`, 'Willow Bridge 41'],
  exposure: [`/vaults/${VAULT}/exposure`, `/v1/vaults/${VAULT}`, 'Exposure of Willow Bridge 41'],
  compare: [`/compare?ids=${VAULT}`, null, 'Willow Bridge 41'],
  assets: ['/assets', '/v1/assets/enriched', example('AssetList').response.data[0].symbol],
  asset: [`/assets/${asset.chain_id}/${asset.address}`, `/v1/assets/${asset.chain_id}/${asset.address}`, 'PNY'],
  markets: ['/markets', '/v1/markets', example('MarketList').response.data[0].name],
  market: [`/markets/${id('MarketById')}`, `/v1/markets/${id('MarketById')}`, 'Dollars against dollars'],
  oracles: ['/oracles', '/v1/oracle', example('OracleList').response.data[0].description],
  oracle: [`/oracles/${oracle.chain}/${oracle.address}`, `/v1/oracle/${oracle.chain}/${oracle.address}`, 'WISP / USD'],
  curators: ['/curators', '/v1/curators', example('CuratorList').response.data[0].name],
  curator: [`/curators/${id('CuratorById')}`, `/v1/curators/${id('CuratorById')}`, example('CuratorById').response.data.curator.name],
  protocols: ['/protocols', '/v1/protocols', example('ProtocolList').response.data[0].name],
  protocol: [`/protocols/${id('ProtocolById')}`, `/v1/protocols/${id('ProtocolById')}`, example('ProtocolById').response.data.protocol.name],
  chains: ['/chains', '/v1/chains', 'Devnet'],
  chain: ['/chains/devnet', '/v1/chains', 'Devnet'],
  events: ['/events', '/v1/events', example('EventList').response.data[0].title],
  event: [`/events/${id('EventById')}`, `/v1/events/${id('EventById')}`, 'The secondary market pays less than the issuer redeems for.'],
  losses: ['/losses', '/v1/security-events/losses', 'Gullwing Bridge emptied with stolen keys'],
  security: ['/security', '/v1/security-events', 'Fourfold Ether drained through its unwinding path'],
  signals: ['/signals', '/v1/signals', example('SignalList').response.data[0].title],
  signal: [`/signals/${id('SignalById')}`, `/v1/signals/${id('SignalById')}`, 'The price is older than the promised heartbeat.'],
  book: ['/book', null, 'Nothing of your book leaves this browser'],
  baskets: ['/baskets', '/v1/baskets', example('BasketList').response.data[0].name],
  basket: [`/baskets/${id('BasketById')}`, `/v1/baskets/${id('BasketById')}`, 'Prime vaults'],
  indices: ['/indices', '/v1/indices', example('IndexList').response.data[0].name],
  'index-levels': [`/indices/${id('IndexById')}`, `/v1/indices/${id('IndexById')}`, '1000.2098'],
  status: ['/status', '/v1/status', '1 of 3 samples from outside failed'],
  search: ['/search?q=pool', null, 'Quillfish Staked Ether Pool'],
};

/** A navigation to a page. */
export function visit(path, headers = {}, method = 'GET') {
  return new Request(`https://explorer.test${path}`, { method, headers: { accept: 'text/html', ...headers } });
}
