// The MCP server, with the official SDKs' clients: in every revision they speak, with keys and limits, and asked twenty questions.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { QUESTIONS, askAll, market } from './mcp-questions.mjs';
import { environment, unable } from './openapi/python-tools.mjs';
import { bearer, mint } from './operator.mjs';
import { ALLOWED_ORIGIN, OTHER_ORIGIN, newCaller, sharedStack, until } from './stack.mjs';

const run = promisify(execFile);
const here = join(dirname(fileURLToPath(import.meta.url)), 'mcp');
const stack = sharedStack();
const PATH = '/v1/mcp';
const NEWEST = '2026-07-28';
const INFO = { name: 'e2e', version: '1.0.0' };

/** The clients of the official npm packages, and the revision that each speaks. */
const CLIENTS = {
  [`@modelcontextprotocol/client without a handshake`]: {
    revision: NEWEST,
    open: () => new Client(INFO, { versionNegotiation: { mode: { pin: NEWEST } } }),
    transport: StreamableHTTPClientTransport,
  },
  [`@modelcontextprotocol/client that negotiates`]: {
    revision: NEWEST,
    open: () => new Client(INFO, { versionNegotiation: { mode: 'auto' } }),
    transport: StreamableHTTPClientTransport,
  },
  [`@modelcontextprotocol/client with a handshake`]: {
    revision: '2025-11-25',
    open: () => new Client(INFO, { versionNegotiation: { mode: 'legacy' } }),
    transport: StreamableHTTPClientTransport,
  },
  // The newer package shows its callers the newer code in every revision.
  [`@modelcontextprotocol/sdk`]: { revision: '2025-11-25', open: () => new OlderClient(INFO), transport: OlderTransport, missing: -32002 },
};
const opened = [];

/** A connected client, with an address of its own unless the headers name one. */
async function connect({ open, transport: Transport }, headers = {}) {
  const client = open();
  const transport = new Transport(new URL(PATH, stack.edge), { requestInit: { headers: { 'cf-connecting-ip': newCaller(), ...headers } } });
  await client.connect(transport);
  opened.push(client);
  return { client, transport };
}

const newest = (headers) => connect(Object.values(CLIENTS)[0], headers).then(({ client }) => client);
/** Sends a message without an SDK. */
const post = (body, headers = {}) => stack.post(PATH, body, headers);
const message = (method, params = {}) => ({ jsonrpc: '2.0', id: 1, method, params });

let holder;

before(async () => {
  holder = await mint(stack, { plan: 'decisioning', rpm: 60_000 });
  await until('the exposure graph is there', 60, async () => (await stack.get('/v1/graph/incident-exposure/summary', { headers: holder.headers })).status === 200);
}, { timeout: 120_000 });
after(async () => {
  for (const client of opened) await client.close();
});

for (const [name, kind] of Object.entries(CLIENTS)) {
  describe(name, () => {
    let client;
    let transport;
    before(async () => {
      ({ client, transport } = await connect(kind));
    });

    test('connects with its revision, and without a session', () => {
      const agreed = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion;
      assert.equal(agreed, kind.revision);
      assert.equal(transport.sessionId, undefined);
      assert.deepEqual(Object.keys(client.getServerCapabilities()).toSorted(), ['resources', 'tools']);
      assert.equal(client.getServerVersion().name, 'risk-data-service');
      assert.match(client.getInstructions(), /search_vaults/);
    });

    test('lists tools with valid schemas, and calls one', async () => {
      const { tools } = await client.listTools();
      assert.equal(tools.length, 19);
      const ajv = addFormats(new Ajv2020({ strict: false }));
      for (const tool of tools) {
        assert.doesNotThrow(() => ajv.compile(tool.inputSchema), tool.name);
        // A blocked event loop would not notice that the server has closed an idle connection.
        await new Promise(setImmediate);
      }
      assert.deepEqual(tools.filter(({ annotations }) => !annotations.readOnlyHint).map((tool) => tool.name), ['check_portfolio']);
      const { structuredContent: content, content: [{ text }], isError } = await client.callTool({ name: 'search_vaults', arguments: { limit: 3 } });
      assert.deepEqual([isError, content.answer.data.length, content.answer.meta.limit], [false, 3, 3]);
      assert.deepEqual(JSON.parse(text), content);
      const direct = await stack.ok('/v1/vaults?limit=3');
      assert.deepEqual(content.answer.data.map(({ id }) => id), direct.json.data.map(({ id }) => id));
      assert.match(content.next.join(' '), /`page` 2[\s\S]*explain_score/);
    });

    test('gets an error of the interface as a tool result, and an unknown tool as an error of the protocol', async () => {
      const { isError, structuredContent: content } = await client.callTool({ name: 'search_vaults', arguments: { chain: ['atlantis'] } });
      assert.deepEqual([isError, content.error.code, content.error.details[0].name], [true, 'INVALID_PARAMETER', 'chain']);
      assert.match(content.error.request_id, /^[0-9a-f]{32}$/);
      await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });
    });

    test('reads pages, the methodology and the evidence behind a score', async () => {
      const { resources } = await client.listResources();
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(resources.length > 20 && resourceTemplates.length === 4);
      const guide = await client.readResource({ uri: 'rds://docs/agents.md' });
      assert.equal(guide.contents[0].text, (await stack.ok('/v1/docs/agents.md')).text);
      const rules = await client.readResource({ uri: 'rds://methodology' });
      assert.deepEqual(JSON.parse(rules.contents[0].text), (await stack.ok('/v1/methodology')).json);
      const [row] = (await stack.ok('/v1/vaults?limit=1')).json.data;
      const evidence = await client.readResource({ uri: `rds://vault/devnet/${row.address}/evidence` });
      const { vault } = JSON.parse(evidence.contents[0].text).data;
      assert.deepEqual([vault.id, vault.total_score, vault.tvl_usd], [row.id, row.total_score, undefined]);
      assert.ok(vault.score_provenance.inputs);
      await assert.rejects(client.readResource({ uri: 'rds://docs/none.md' }), { code: kind.missing ?? -32602 });
    });
  });
}

describe('the Python SDK', { skip: unable() ?? false }, () => {
  let interpreter;
  before(() => {
    interpreter = join(environment('mcp', join(here, 'requirements.txt')), 'bin/python');
  }, { timeout: 300_000 });

  for (const [mode, revision] of [['auto', NEWEST], ['legacy', '2025-11-25']]) {
    test(`connects in mode ${mode}, calls a tool and reads a page`, { timeout: 60_000 }, async () => {
      const { stdout } = await run(interpreter, [join(here, 'client.py'), new URL(stack.edge).origin, newCaller(), mode]);
      const { tools, resources, page, ...seen } = JSON.parse(stdout);
      assert.ok(tools.length === 19 && resources > 20 && page.startsWith('# Limits'), stdout);
      const refused = [true, 'INVALID_PARAMETER'];
      assert.deepEqual(seen, { revision, server: 'risk-data-service', templates: 4, rows: 2, is_error: false, refused });
    });
  }
});

describe('keys and limits', () => {
  test('a call counts like the request that it makes, and other messages do not count', async () => {
    const caller = { 'cf-connecting-ip': newCaller() };
    const client = await newest(caller);
    for (let left = 9; left >= 0; left -= 1) {
      await client.listTools();
      const { structuredContent: content } = await client.callTool({ name: 'overview', arguments: {} });
      assert.deepEqual([content.rate_limit, content.rate_limit_remaining], [10, left]);
    }
    const { isError, structuredContent: content } = await client.callTool({ name: 'overview', arguments: {} });
    assert.deepEqual([isError, content.error.code, content.status], [true, 'RATE_LIMITED', 429]);
    assert.ok(content.retry_after_seconds > 0 && content.retry_after_seconds <= 60);
    assert.equal((await stack.get('/v1/stats', { headers: caller })).status, 429, 'the address has one limit for both');
  });

  test('a call with a key counts against the key and is counted as its use', async () => {
    const { headers } = await mint(stack, { plan: 'data', rpm: 300 });
    const client = await newest(headers);
    const { structuredContent: content } = await client.callTool({ name: 'service_status', arguments: { view: 'key' } });
    assert.equal(content.answer.data.limits.requests_per_minute, 300);
    assert.equal(content.rate_limit, 300);
    const { structuredContent: refused } = await client.callTool({ name: 'look_through', arguments: { view: 'incident_summary' } });
    assert.deepEqual([refused.error.code, refused.status], ['FORBIDDEN', 403]);
  });

  test('an invalid key is refused over HTTP', async () => {
    const answer = await post(message('tools/list'), bearer(`pk_live_${'0'.repeat(32)}`));
    assert.deepEqual([answer.status, answer.json.error.code, answer.headers.get('www-authenticate')], [401, 'UNAUTHORIZED', 'Bearer']);
  });
});

describe('a message', () => {
  test('over GET or DELETE is refused, and there is no stream', async () => {
    for (const method of ['GET', 'DELETE']) {
      const answer = await stack.get(PATH, { method, headers: { accept: 'text/event-stream' } });
      assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST, OPTIONS']);
    }
  });

  test('of a page of another site is refused', async () => {
    assert.equal((await post(message('ping'), { origin: OTHER_ORIGIN })).status, 403);
    assert.equal((await post(message('ping'), { origin: ALLOWED_ORIGIN })).status, 200);
  });

  test('that is malformed, a batch, too long or no JSON is refused', async () => {
    for (const [body, code] of [['{', -32700], [[], -32600], [[message('ping')], -32600], [{}, -32600], [{ ...message('ping'), id: null }, -32600]]) {
      const answer = await post(body);
      assert.deepEqual([answer.status, answer.json.error.code, answer.json.id], [400, code, null], JSON.stringify(body));
    }
    const long = await post({ ...message('ping'), more: 'x'.repeat(300_000) });
    assert.deepEqual([long.status, long.json.error.code], [413, 'PAYLOAD_TOO_LARGE']);
    assert.equal((await post(message('ping'), { 'content-type': 'text/plain' })).status, 415);
  });

  test('whose headers and body disagree is refused', async () => {
    const meta = { 'io.modelcontextprotocol/protocolVersion': NEWEST, 'io.modelcontextprotocol/clientCapabilities': {} };
    const list = message('tools/list', { _meta: meta });
    const good = { 'mcp-protocol-version': NEWEST, 'mcp-method': 'tools/list' };
    assert.equal((await post(list, good)).status, 200);
    for (const [headers, code] of [
      [{ ...good, 'mcp-method': 'tools/call' }, -32020],
      [{ ...good, 'mcp-protocol-version': '2025-11-25' }, -32020],
      [{}, -32020],
    ]) {
      const answer = await post(list, headers);
      assert.deepEqual([answer.status, answer.json.error.code], [400, code], JSON.stringify(headers));
    }
    const unknown = await post(message('tools/list'), { 'mcp-protocol-version': '2027-01-01' });
    assert.deepEqual([unknown.status, unknown.json.error.code, unknown.json.error.data.supported[0]], [400, -32022, NEWEST]);
    const missing = await post({ ...list, method: 'prompts/list' }, { ...good, 'mcp-method': 'prompts/list' });
    assert.deepEqual([missing.status, missing.json.error.code], [404, -32601]);
  });
});

test('a long answer is shortened, says so, and its next call reads on without a gap', async () => {
  const client = await newest(holder.headers);
  const list = async (given) => (await client.callTool({ name: 'search_vaults', arguments: { sortBy: 'name', sortOrder: 'asc', ...given } })).structuredContent;
  const first = await list({ limit: 100 });
  const [{ path, shown, total }] = first.omitted;
  assert.deepEqual([path, shown, first.answer.data.length], ['data', shown, shown]);
  assert.ok(JSON.stringify(first.answer).length <= 24 * 1024 && total > shown);
  const [, limit, page] = first.next[0].match(/`limit` (\d+) and `page` (\d+)/);
  const second = await list({ limit: Number(limit), page: Number(page) });
  const all = (await stack.ok('/v1/vaults?sortBy=name&sortOrder=asc&limit=100')).json.data.map(({ id }) => id);
  const read = [...first.answer.data, ...second.answer.data].map(({ id }) => id);
  assert.deepEqual(read, all.slice(0, read.length));
});

describe('twenty questions', () => {
  let asked;
  before(async () => {
    const client = await newest(holder.headers);
    const read = async (path) => (await stack.ok(path, { headers: holder.headers })).json;
    asked = await askAll((call) => client.callTool(call), await market(read));
  }, { timeout: 120_000 });

  test('use every tool', async () => {
    const { tools } = await (await newest()).listTools();
    assert.equal(QUESTIONS.length, 20);
    assert.deepEqual([...new Set(QUESTIONS.map(({ tool }) => tool))].toSorted(), tools.map(({ name }) => name).toSorted());
  });

  for (const [index, { question }] of QUESTIONS.entries()) {
    test(question, () => {
      const { facts, expected, content } = asked[index];
      assert.ok(expected.length > 0, 'the demo market has such facts');
      assert.deepEqual(facts, expected, JSON.stringify(content).slice(0, 1_000));
    });
  }
});

describe('pages as Markdown', () => {
  test('every page has a twin, at its address with .md and by Accept, and llms.txt lists it', async () => {
    const index = (await stack.ok('/llms.txt')).text;
    const { text } = await stack.ok('/v1/docs');
    const navigation = text.slice(text.indexOf('<nav'), text.indexOf('</nav>'));
    const paths = [...navigation.matchAll(/href="(\/v1\/docs[^"#]*)"/g)].map(([, path]) => path);
    assert.ok(paths.length > 20);
    for (const path of paths) {
      const twin = path === '/v1/docs' ? '/v1/docs/index.md' : `${path}.md`;
      const markdown = await stack.ok(twin);
      const negotiated = await stack.ok(path, { headers: { accept: 'text/markdown, text/html;q=0.8' } });
      assert.equal(markdown.headers.get('content-type'), 'text/markdown; charset=utf-8', twin);
      assert.match(markdown.text, /^# /, twin);
      assert.deepEqual([negotiated.text, negotiated.headers.get('etag')], [markdown.text, markdown.headers.get('etag')], path);
      for (const answer of [negotiated, await stack.ok(path)]) assert.match(answer.headers.get('vary'), /\bAccept\b/, path);
      assert.ok(index.includes(`](${twin})`), twin);
    }
  });
});
