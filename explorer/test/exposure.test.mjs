// The exposure of a vault: the graph, the list that says the same, and the page with both.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { api, example, PAGES, refusal, visit } from './answers.mjs';
import { built, bundled } from './built.mjs';
import { problemsOf, textOf } from './html.mjs';

const { explore, stored } = await built();
const { graphOf, itemsOf, listed } = await bundled(`
  import { renderToString } from 'preact-render-to-string';
  import { itemsOf, Listing } from './src/exposure/listing.js';
  export { graphOf } from './src/exposure/graph.js';
  export { itemsOf };
  export const listed = (graph) => renderToString(<Listing graph={graph} />);
`);
const { vault } = example('VaultById').response.data;
const [KEY] = Object.keys(example('LookThrough').response.data.results);
const FEED = '31337:0x00000000000000000000000000000000000000fe';
const share = (id, part, more = {}) => ({ id, share: part, ...more });
const trusted = (id, part, verified) => share(id, part, { verified, confidence: 1 });
const asset = (assetKey, part, { wrappers = [], oracles = [], bridges = [] } = {}) => ({
  assetKey,
  symbol: assetKey.toUpperCase(),
  share: part,
  usdExposure: '1',
  wrappers,
  oracles,
  bridges,
});
const THROUGH = {
  ...example('LookThrough').response.data.results[KEY],
  assets: [
    asset('gold', 0.6, {
      wrappers: [share('1:0x00000000000000000000000000000000000000a1', 0.4), share('wrapped', 0.2)],
      oracles: [share(FEED, 0.6, { vendor: 'tallow' })],
    }),
    asset('silver', 0.3, { oracles: [share(FEED, 0.3, { vendor: 'tallow' })], bridges: [trusted('gullwing', 0.3, false)] }),
  ],
  signerSets: [trusted('31337:0x00000000000000000000000000000000000000c0', 0.9, true)],
  clusters: [share('north', 0.5)],
  unattributed: [{ reason: 'no_holdings', share: 0.1, usdExposure: null }],
  cycles: [['1:0xaa', '1:0xbb']],
};
const edge = ({ edges }, from, to) => edges.find((one) => one.from === from && one.to === to)?.share;

test('look-through: assets by share, and below each what it depends on', () => {
  const graph = graphOf(vault, THROUGH);
  const root = graph.nodes[0].id;
  assert.equal(graph.nodes[0].label, 'Willow Bridge 41');
  assert.equal(edge(graph, root, 'asset:gold'), 0.6);
  assert.equal(edge(graph, 'asset:gold', 'wrapper:wrapped'), 0.2);
  assert.equal(edge(graph, 'asset:gold', `oracle:${FEED}`), 0.6);
  assert.equal(edge(graph, 'asset:silver', `oracle:${FEED}`), 0.3);
  assert.equal(edge(graph, 'asset:silver', 'bridge:gullwing'), 0.3);
  assert.equal(edge(graph, root, 'signers:31337:0x00000000000000000000000000000000000000c0'), 0.9);
  assert.equal(edge(graph, root, 'cluster:north'), 0.5);
  assert.equal(edge(graph, root, 'chain:31337'), null);
  const node = (id) => graph.nodes.find((one) => one.id === id);
  assert.equal(node('bridge:gullwing').verified, false);
  assert.equal(node('bridge:gullwing').href, null);
  assert.equal(node(`oracle:${FEED}`).href, '/oracles/31337/0x00000000000000000000000000000000000000fe');
  assert.equal(node(`oracle:${FEED}`).label, 'tallow feed');
  assert.equal(node('asset:gold').href, '/search?q=gold');
  assert.equal(new Set(graph.nodes.map(({ id }) => id)).size, graph.nodes.length);
});

test('a bridge that is not verified in one asset is not verified', () => {
  const assets = [asset('a', 0.5, { bridges: [trusted('b', 0.5, true)] }), asset('c', 0.5, { bridges: [trusted('b', 0.5, false)] })];
  assert.equal(graphOf(vault, { ...THROUGH, assets }).nodes.find(({ id }) => id === 'bridge:b').verified, false);
});

test('without look-through: the exposures of the score, else the deposit asset', () => {
  const graph = graphOf(vault, null);
  const root = graph.nodes[0].id;
  assert.equal(edge(graph, root, 'asset:spny'), 0.65);
  const inputs = { asset: { exposures: [share('vault:quillfish-1-0xab', 0.7), share('a', 0.1), share('a', 0.2)] } };
  const nested = graphOf({ ...vault, score_provenance: { inputs } }, null);
  assert.equal(edge(nested, root, 'vault:quillfish-1-0xab'), 0.7);
  assert.equal(nested.nodes.find(({ kind, id }) => kind === 'vault' && id !== root).href, '/vaults/quillfish-1-0xab');
  assert.ok(Math.abs(edge(nested, root, 'asset:a') - 0.3) < 1e-12);
  assert.equal(edge(graphOf({ ...vault, score_provenance: null }, null), root, 'asset:dETH'), 1);
});

test('the list has every edge, largest shares first, and what is shared once', () => {
  const graph = graphOf(vault, THROUGH);
  const text = textOf(listed(graph));
  for (const { label } of graph.nodes.slice(1)) assert.ok(text.includes(label), label);
  assert.ok(text.indexOf('GOLD') < text.indexOf('SILVER'));
  assert.match(text, /Bridge: gullwing, 30\.0%, not verified/);
  const count = (items) => items.reduce((sum, { below }) => sum + 1 + count(below), 0);
  assert.equal(count(itemsOf(graph)), graph.edges.length);
});

test('cycles and many shared parts end', () => {
  const node = (id) => ({ id, kind: 'vault', label: id, href: null, verified: null });
  const cycle = {
    nodes: ['a', 'b', 'c'].map(node),
    edges: [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
      ['c', 'b'],
    ].map(([from, to]) => ({ from, to, share: 0.5 })),
  };
  assert.equal(textOf(listed(cycle)).match(/listed once/g).length, 2);
  // 20 layers of 4 nodes have 4^20 paths.
  const nodes = [node('root')];
  const edges = [];
  for (let layer = 0; layer < 20; layer += 1) {
    for (let at = 0; at < 4; at += 1) nodes.push(node(`${layer}.${at}`));
    for (let at = 0; at < 16; at += 1) edges.push({ from: layer === 0 ? 'root' : `${layer - 1}.${at >> 2}`, to: `${layer}.${at & 3}`, share: 0.25 });
  }
  const count = (items) => items.reduce((sum, { below }) => sum + 1 + count(below), 0);
  assert.ok(count(itemsOf({ nodes, edges })) <= edges.length);
  assert.equal(listed({ nodes: [], edges: [] }), '');
});

const open = async (result) => {
  const answer = structuredClone(example('LookThrough').response);
  answer.data.results[KEY] = result;
  const html = await (await explore(visit(PAGES.exposure[0]), stored, api({ special: { '/v1/graph/look-through': answer } }).ask)).text();
  assert.deepEqual(problemsOf(html), []);
  return html;
};

test('the page has the picture, the list, cycles and what is not attributed', async () => {
  const html = await open(THROUGH);
  const text = textOf(html);
  assert.match(text, /Vaults that hold each other 1:0xaa → 1:0xbb → the first again/);
  assert.match(text, /Not attributed 10\.0%: no holdings/);
  assert.match(html, /<a href="\/oracles\/31337\/0x0+fe" class="node oracle" data-node="oracle:[^"]+".*?Price feed <\/text><text[^>]*>tallow feed<\/text><\/a>/);
  assert.match(html, /tabindex="0"[^>]* aria-label="Bridge, not verified gullwing"/);
});

test('a graph that is too large for a picture is a list', async () => {
  const assets = Array.from({ length: 200 }, (_, n) => asset(`a${n}`, 0.005));
  const html = await open({ ...THROUGH, assets });
  assert.match(textOf(html), /The graph has 206 parts, too many for a picture\. The list has all of them\./);
  assert.ok(!html.includes('class="scroll graph"'));
});

test('a vault that the snapshot does not have, and a caller without the plan', async () => {
  assert.match(textOf(await open(null)), /does not contain this vault\. This page shows only the exposures that the score counts\./);
  const special = { '/v1/graph/look-through': refusal(401, 'UNAUTHORIZED') };
  const text = textOf(await (await explore(visit(PAGES.exposure[0]), stored, api({ special }).ask)).text());
  assert.match(text, /A key that allows it is needed for the whole graph/);
});
