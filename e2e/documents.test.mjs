// Runs the commands of the README, the handbook, OPERATING.md and the guides: each block marked `run`, in order, in one shell per document.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { originEnvironment, repository } from './private-stack.mjs';
import { newCaller, sharedStack } from './stack.mjs';

const stack = sharedStack();
/** The addresses that the documents use, and those of this stack. */
const ADDRESSES = {
  'http://127.0.0.1:8787': stack.edge,
  'http://127.0.0.1:8789': stack.relay,
  'http://127.0.0.1:8790': stack.admin,
  // The documentation pages replace this host with their own.
  'https://risk.example': stack.edge,
};
const MARK = '@@ block ';

/** As curl, but a failed request fails the command, and a stream (`-N`) ends after three seconds. */
const CURL = `#!/usr/bin/env bash
set -u
for word in "$@"; do
  [ "$word" = -N ] || continue
  command -p curl --silent --show-error --fail-with-body --max-time 3 -H "CF-Connecting-IP: $CALLER" "$@"
  code=$?
  [ $code = 28 ] && exit 0 || exit $code
done
command -p curl --silent --show-error --fail-with-body --max-time 60 -H "CF-Connecting-IP: $CALLER" "$@"
`;

/** `psql URL -c STATEMENT`, as a line of JSON for each row: the stack's Postgres need not come with psql. */
const PSQL = `#!/usr/bin/env node
const { Client } = require(${JSON.stringify(join(repository, 'e2e/node_modules/pg'))});
const [connectionString, , statement] = process.argv.slice(2);
const client = new Client({ connectionString });
client.connect().then(() => client.query(statement)).then(({ rows }) => {
  console.log(rows.map((row) => JSON.stringify(row)).join('\\n'), \`(\${rows.length} rows)\`);
  return client.end();
}).catch((error) => { console.error(error.message); process.exit(1); });
`;

let bin;

before(() => {
  bin = mkdtempSync(join(tmpdir(), 'rds-documents-'));
  writeFileSync(join(bin, 'curl'), CURL);
  chmodSync(join(bin, 'curl'), 0o755);
  writeFileSync(join(bin, 'psql'), PSQL);
  chmodSync(join(bin, 'psql'), 0o755);
  symlinkSync(stack.origin_bin, join(bin, 'rds-origin'));
  symlinkSync(join(dirname(stack.origin_env), 'logs', 'origin.log'), join(bin, 'origin.log'));
});

after(() => rmSync(bin, { recursive: true, force: true }));

/** The blocks of a document that are marked `run`: `{line, text}`. */
function blocks(file) {
  const text = readFileSync(join(repository, file), 'utf8');
  return [...text.matchAll(/^```sh run\n([\s\S]*?)^```$/gm)].map((found) => {
    const line = text.slice(0, found.index).split('\n').length;
    return { line, text: Object.entries(ADDRESSES).reduce((commands, [documented, actual]) => commands.replaceAll(documented, actual), found[1]) };
  });
}

/** Runs blocks in one shell; resolves to the output of each block that was started. */
function run(found) {
  const script = found.map(({ text }, number) => `printf '\\n${MARK}${number}\\n'; export CALLER=${newCaller()}\n${text}`).join('\n');
  const env = {
    ...originEnvironment(stack),
    PATH: `${bin}:${process.env.PATH}`,
    // The first guide exports this variable; the others use it.
    RDS: stack.edge,
    KEY: stack.keys.decisioning,
    INDEX_TOKEN: stack.index_token,
    ADMIN_TOKEN: stack.admin_token,
    // Nothing listens there: deliveries fail, which the guides allow.
    RECEIVER: 'https://127.0.0.1:39999/risk',
  };
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { env, cwd: bin, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  shell.stdout.on('data', (chunk) => (stdout += chunk));
  shell.stderr.on('data', (chunk) => (stderr += chunk));
  return new Promise((resolve) => {
    shell.once('close', (code) => resolve({ code, stderr, parts: stdout.split(new RegExp(`^${MARK}\\d+\n`, 'm')).slice(1) }));
  });
}

/** Patterns that the output of a document's commands must match, as evidence that they did what the text says. */
const PRINTS = {
  // A query finds series, and the request id leads to the access line with the caller's key.
  'docs/handbook/at-three.md': [/^rds_db_up 1$/m, /"message":"request".*"route":"Me".*"key":\d+/, /"pg_is_in_recovery":false/],
  'docs/guides/errors.md': [/^x-service-ignored-parameters: risktier/im],
  'docs/guides/index.md': [/"score_provenance":/, /event: ready$/m],
  'docs/guides/keys.md': [/"tier":"decisioning"/],
  'docs/guides/limits.md': [/^x-ratelimit-remaining: \d+/im],
  'docs/guides/paging.md': [/"page":2/, /"has_more":/, /^HTTP\/1\.1 304/m],
  'docs/guides/stream.md': [/event: published$/m],
  'docs/guides/webhooks.md': [/"secret":"whsec_/, /"event_type":"webhook.test"/],
  'docs/guides/decisions.md': [/"verdict":"reject"/, /"verified":true/],
};
/** Guides without commands. */
const TEXT_ONLY = ['methodology', 'security'];
const guides = readdirSync(join(repository, 'docs/guides')).map((name) => name.replace('.md', ''));
const documents = [['README.md', 1], ['docs/handbook/tour.md', 14], ['origin/OPERATING.md', 7], ['docs/handbook/at-three.md', 10]];
for (const name of guides) documents.push([`docs/guides/${name}.md`, TEXT_ONLY.includes(name) ? 0 : 1]);

for (const [file, least] of documents) {
  describe(file, () => {
    const found = blocks(file);
    let ran;

    before(async () => {
      ran = await run(found);
    }, { timeout: 180_000 });

    test('has blocks to run', () => assert.ok(found.length >= least, `${found.length}`));

    test('marks every shell block to be run', { skip: !file.startsWith('docs/') && 'some of its commands would harm a running service' }, () => {
      assert.doesNotMatch(readFileSync(join(repository, file), 'utf8'), /^```sh$/m);
    });

    for (const pattern of PRINTS[file] ?? []) {
      test(`its commands print ${pattern}`, () => assert.match(ran.parts.join('\n'), pattern));
    }

    for (const [number, { line, text }] of found.entries()) {
      test(`line ${line}: ${text.split('\n')[0].slice(0, 90)}`, () => {
        assert.ok(number < ran.parts.length, 'an earlier block failed');
        const last = number === ran.parts.length - 1;
        assert.ok(!last || ran.code === 0, `the block exited with ${ran.code}: ${ran.stderr}\n${ran.parts[number]}`);
        assert.ok(ran.parts[number].trim().length > 0, 'the block printed nothing');
      });
    }
  });
}
