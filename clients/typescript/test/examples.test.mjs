// Every example in a doc comment and in the README: the compiler accepts it, and it runs against recorded answers.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { project } from './installed.mjs';

const here = fileURLToPath(new URL('..', import.meta.url));
const ts = createRequire(import.meta.url)('typescript');
const document = JSON.parse(readFileSync(join(here, '../../openapi/openapi.json'), 'utf8'));
const folder = mkdtempSync(join(project, '.examples-'));
after(() => rmSync(folder, { recursive: true }));

const sources = readdirSync(join(here, 'src'), { recursive: true, withFileTypes: true }).filter((it) => it.name.endsWith('.ts'));
const examples = sources.flatMap(({ parentPath, name }) => examplesOf(name, readFileSync(join(parentPath, name), 'utf8')));
const CLIENT = `import { Client } from '@risk-data/client';
export const client = new Client({ baseUrl: 'http://recorded', maxRetries: 0 });
`;
const HEAD = `import * as library from '@risk-data/client';
import * as decisions from '@risk-data/client/decisions';
import { Client } from '@risk-data/client';
import type { DeliveryData, RequestOptions, StreamOptions } from '@risk-data/client';
declare const client: Client;
`;

describe('Examples', () => {
  test('there is one for every method and every error', () => {
    const methods = Object.values(document.paths).flatMap((it) => Object.values(it)).filter((it) => answersData(it));
    const codes = document.components.schemas.ErrorCode.enum;
    assert.ok(examples.length >= methods.length + codes.length, `${examples.length} examples`);
  });

  const readme = readFileSync(join(here, 'README.md'), 'utf8').match(/```ts\n([\s\S]*?)```/g).map((it) => it.slice(6, -3));
  test('the first one of the README has at most 40 lines', () => assert.ok(readme[0].trim().split('\n').length <= 40));

  test('the compiler accepts them', () => {
    const files = examples.map(({ code }, at) => write(`${at}.mts`, module(code)));
    files.push(...readme.map((code, at) => write(`readme-${at}.mts`, code)));
    // What the README takes from Node.
    files.push(write('node.d.ts', 'declare const process: { env: Record<string, string | undefined> };'));
    const options = {
      target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
      strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, types: [], noEmit: true,
    };
    const faults = ts.getPreEmitDiagnostics(ts.createProgram(files, options));
    const host = { getCanonicalFileName: (it) => it, getCurrentDirectory: () => folder, getNewLine: () => '\n' };
    assert.equal(ts.formatDiagnostics(faults, host), '');
  });

  const asked = new Set();
  for (const [at, { name, code }] of examples.entries()) {
    test(`runs: ${name}`, async () => {
      const text = module(code).replace('declare const client: Client;', "import { client } from './client.mjs';");
      const to = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
      const file = write(`run-${at}.mjs`, ts.transpile(text, to));
      write('client.mjs', CLIENT);
      const [real, log] = [globalThis.fetch, { ...console }];
      globalThis.fetch = (url, init) => recorded(url, init, asked);
      Object.assign(console, { log() {}, warn() {}, error() {} });
      try {
        await (await import(pathToFileURL(file))).example();
      } finally {
        globalThis.fetch = real;
        Object.assign(console, log);
      }
    });
  }
  test('every operation of the document was asked for', () => {
    const all = Object.values(document.paths).flatMap((it) => Object.values(it)).filter(answersData).map((it) => it.operationId);
    assert.deepEqual(all.filter((it) => !asked.has(it)), []);
  });
});

function write(name, text) {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** The example as a function in which every export of the library has its name. */
function module(code) {
  const errors = ['ApiError', 'CancelledError', 'ConnectionError', 'DecodingError', 'RiskDataError', 'TimeoutError', 'WebhookError'];
  const values = [...errors, 'infoOf', 'verifyWebhook'];
  const classes = document.components.schemas.ErrorCode.enum.map((it) => {
    const words = it.replace(/_ERROR$/, '').toLowerCase().split('_');
    return `${words.map((word) => word[0].toUpperCase() + word.slice(1)).join('')}Error`;
  });
  // A local name of the example hides none of these.
  const used = [...values, ...classes].filter((it) => new RegExp(`\\b${it}\\b`).test(code));
  const names = `const { ${used.join(', ')} } = library;\nconst { verifyDecision } = decisions;\nvoid verifyDecision;\n`;
  return `${HEAD}${names}export async function example() {\n${code}\n}\n`;
}

function examplesOf(file, text) {
  const comments = text.match(/\/\*\*[\s\S]*?\*\//g) ?? [];
  return comments.flatMap((comment) => {
    const [about, code] = comment.split('@example\n');
    if (code === undefined) return [];
    const lines = code.split('\n').slice(0, -1).map((line) => line.replace(/^\s*\* ?/, ''));
    const title = about.split('\n')[1]?.replace(/^\s*\* ?/, '').slice(0, 80);
    return [{ name: `${file}: ${title}`, code: lines.join('\n') }];
  });
}

function answersData(operation) {
  // Another protocol's messages are no methods.
  if (operation['x-protocol']) return false;
  const content = operation.responses['200']?.content ?? {};
  return 'application/json' in content || 'text/event-stream' in content;
}

/** The recorded answer to a request. */
async function recorded(address, { method = 'GET', signal } = {}, asked) {
  signal?.throwIfAborted();
  const { pathname } = new URL(address);
  const fits = (path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname);
  const found = Object.keys(document.paths).filter((path) => fits(path) && document.paths[path][method.toLowerCase()]);
  const [path] = found.sort((one, other) => one.split('{').length - other.split('{').length);
  assert.ok(path, `no operation ${method} ${pathname}`);
  const operation = document.paths[path][method.toLowerCase()];
  asked.add(operation.operationId);
  const { content } = operation.responses['200'];
  if (!content['text/event-stream']) return Response.json(content['application/json'].example ?? {});
  const frames = Object.values(content['text/event-stream'].examples).map(({ value }) => {
    return `${value.id ? `id: ${value.id}\n` : ''}event: ${value.event}\ndata: ${value.data}\n\n`;
  });
  return new Response(frames.join(''), { headers: { 'content-type': 'text/event-stream' } });
}
