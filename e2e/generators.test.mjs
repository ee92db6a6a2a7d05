// Clients that third-party generators make from the OpenAPI document: they compile or import, and can call the service.
// `openapi.test.mjs` does the same with openapi-typescript.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generate } from './generators/batch.mjs';
import { FILE, committed, operations } from './openapi/document.mjs';
import { environment, unable } from './openapi/python-tools.mjs';
import { newCaller, sharedStack } from './stack.mjs';

const run = promisify(execFile);
const here = dirname(fileURLToPath(import.meta.url));
const given = join(here, 'generators');
const stack = sharedStack();
/** Operations that manage webhooks, by id. */
const management = operations(committed()).filter(({ operation }) => operation.tags.includes('Webhooks')).map(({ id }) => id);
/** Upper bound on the Python files of openapi-python-client: about one per schema and operation. Duplicated error types made four times as many. */
const MAX_FILES = 1_000;

describe('a generated client', { skip: unable() ?? false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rds-generators-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  let tools;
  let python;
  /** Total of the filtered list that every client requests. */
  let total;

  before(async () => {
    tools = environment('generators', join(given, 'requirements.txt'));
    python = (script, path) => run(join(tools, 'bin/python'), [join(given, script), stack.edge, newCaller()], { env: { ...process.env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: '1' } });
    total = (await stack.ok('/v1/vaults?riskTier=prime')).json.meta.total;
    await generate(tools, folder, [
      { generator: 'python', properties: { packageName: 'rds_client' } },
      { generator: 'typescript-fetch' },
      { generator: 'go' },
    ]);
  }, { timeout: 300_000 });

  test('of openapi-generator in Python imports completely, lists vaults and manages webhooks', { timeout: 120_000 }, async () => {
    const result = JSON.parse((await python('call.py', join(folder, 'python'))).stdout);
    assert.deepEqual({ rows: result.rows, tiers: result.tiers, total: result.total, refused: result.refused }, { rows: 2, tiers: ['Prime'], total, refused: 'INVALID_PARAMETER' });
    for (const id of management) assert.ok(result.webhooks.includes(id.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase()), id);
  });

  test('of openapi-generator in Go has every operation that manages webhooks', () => {
    const source = readFileSync(join(folder, 'go/api_webhooks.go'), 'utf8');
    for (const id of management) assert.match(source, new RegExp(`func \\(a \\*WebhooksAPIService\\) ${id}\\(`));
  });

  test('of openapi-python-client is generated without warnings or duplicated types, and lists vaults', { timeout: 120_000 }, async () => {
    const out = join(folder, 'attrs');
    const words = ['-m', 'openapi_python_client', 'generate', '--path', fileURLToPath(FILE), '--output-path', join(out, 'rds_attrs'), '--meta', 'none'];
    const { stdout, stderr } = await run(join(tools, 'bin/python'), words, { env: { ...process.env, PATH: `${join(tools, 'bin')}:${process.env.PATH}` } });
    assert.doesNotMatch(stdout + stderr, /warning|error|duplicate|unable/i);
    const written = readdirSync(out, { recursive: true }).filter((name) => name.endsWith('.py')).length;
    assert.ok(written < MAX_FILES, `${written} files`);
    assert.deepEqual(JSON.parse((await python('call_attrs.py', out)).stdout), { rows: 2, total, refused: 'INVALID_PARAMETER' });
  });

  test('of typescript-fetch and of hey-api compiles strictly and lists vaults', { timeout: 240_000 }, async () => {
    for (const file of ['clients.ts', 'tsconfig.json']) cpSync(join(given, file), join(folder, file));
    symlinkSync(join(here, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type": "commonjs"}');
    const tool = (name, ...words) => run(join(here, 'node_modules/.bin', name), words, { cwd: folder }).catch(({ stdout, stderr }) => assert.fail(`${stdout}${stderr}`.slice(0, 4000)));
    await tool('openapi-ts', '--input', fileURLToPath(FILE), '--output', join(folder, 'hey'), '--client', '@hey-api/client-fetch', '--no-log-file');
    await tool('tsc', '--project', 'tsconfig.json');
    const clients = createRequire(import.meta.url)(join(folder, 'out/clients.js'));
    const expected = { rows: 2, total, refused: 'INVALID_PARAMETER' };
    assert.deepEqual(await clients.fetched(stack.edge, newCaller()), expected);
    assert.deepEqual(await clients.hey(stack.edge, newCaller()), expected);
    for (const id of management) assert.ok(clients.management.includes(id[0].toLowerCase() + id.slice(1)), id);
  });
});
