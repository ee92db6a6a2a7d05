// Runs the commands that the README, the handbook, the operator's page and the guides show: each block marked `run`, in order, in one shell for each document.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { originEnvironment, repository } from './private-stack.mjs';
import { newCaller, sharedStack } from './stack.mjs';

const stack = sharedStack();
/** Where the documents say that the stack is. */
const ADDRESSES = {
  'http://127.0.0.1:8787': stack.edge,
  'http://127.0.0.1:8789': stack.relay,
  'http://127.0.0.1:8790': stack.admin,
  // The pages put the address of their own host in its place.
  'https://risk.example': stack.edge,
};
const MARK = '@@ block ';

/** As curl, but a failed request is a failed command, and a stream is listened to for a moment. */
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

let bin;

before(() => {
  bin = mkdtempSync(join(tmpdir(), 'rds-documents-'));
  writeFileSync(join(bin, 'curl'), CURL);
  chmodSync(join(bin, 'curl'), 0o755);
  symlinkSync(stack.origin_bin, join(bin, 'rds-origin'));
});

after(() => rmSync(bin, { recursive: true, force: true }));

/** The blocks of a document that are marked `run`: `{line, text}`. */
function blocks(file) {
  const text = readFileSync(join(repository, file), 'utf8');
  return [...text.matchAll(/^```sh run\n([\s\S]*?)^```$/gm)].map((found) => {
    const line = text.slice(0, found.index).split('\n').length;
    return { line, text: Object.entries(ADDRESSES).reduce((said, [there, here]) => said.replaceAll(there, here), found[1]) };
  });
}

/** Runs blocks in one shell, as a person would; resolves to what each of them printed, as far as it came. */
function run(found) {
  const script = found.map(({ text }, number) => `printf '\\n${MARK}${number}\\n'; export CALLER=${newCaller()}\n${text}`).join('\n');
  const env = {
    ...originEnvironment(stack),
    PATH: `${bin}:${process.env.PATH}`,
    // What the guides call the service, as their first page has it exported.
    RDS: stack.edge,
    KEY: stack.keys.decisioning,
    INDEX_TOKEN: stack.index_token,
    ADMIN_TOKEN: stack.admin_token,
    // Nobody listens there: what is sent fails, as it may.
    RECEIVER: 'https://127.0.0.1:39999/risk',
  };
  const shell = spawn('bash', ['-euo', 'pipefail', '-c', script], { env, cwd: bin, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let complained = '';
  shell.stdout.on('data', (chunk) => (said += chunk));
  shell.stderr.on('data', (chunk) => (complained += chunk));
  return new Promise((resolve) => {
    shell.once('close', (code) => resolve({ code, complained, parts: said.split(new RegExp(`^${MARK}\\d+\n`, 'm')).slice(1) }));
  });
}

/** What a document's commands must print beside something: that they did what the text around them says. */
const PRINTS = {
  'docs/guides/errors.md': [/^x-service-ignored-parameters: risktier/im],
  'docs/guides/index.md': [/"score_provenance":/, /event: ready$/m],
  'docs/guides/keys.md': [/"tier":"decisioning"/],
  'docs/guides/limits.md': [/^x-ratelimit-remaining: \d+/im],
  'docs/guides/paging.md': [/"page":2/, /"has_more":/, /^HTTP\/1\.1 304/m],
  'docs/guides/stream.md': [/event: published$/m],
  'docs/guides/webhooks.md': [/"secret":"whsec_/, /"event_type":"webhook.test"/],
  'docs/guides/decisions.md': [/"verdict":"reject"/, /"verified":true/],
};
/** Guides that have nothing to type. */
const TEXT_ONLY = ['methodology', 'security'];
const guides = readdirSync(join(repository, 'docs/guides')).map((name) => name.replace('.md', ''));
const documents = [['README.md', 1], ['docs/handbook/tour.md', 14], ['origin/OPERATING.md', 4]];
for (const name of guides) documents.push([`docs/guides/${name}.md`, TEXT_ONLY.includes(name) ? 0 : 1]);

for (const [file, least] of documents) {
  describe(file, () => {
    const found = blocks(file);
    let ran;

    before(async () => {
      ran = await run(found);
    }, { timeout: 180_000 });

    test('has blocks to run', () => assert.ok(found.length >= least, `${found.length}`));

    test('has no commands that nothing runs', { skip: !file.startsWith('docs/') && 'some of them would harm a running service' }, () => {
      assert.doesNotMatch(readFileSync(join(repository, file), 'utf8'), /^```sh$/m);
    });

    for (const pattern of PRINTS[file] ?? []) {
      test(`its commands print ${pattern}`, () => assert.match(ran.parts.join('\n'), pattern));
    }

    for (const [number, { line, text }] of found.entries()) {
      test(`line ${line}: ${text.split('\n')[0].slice(0, 90)}`, () => {
        assert.ok(number < ran.parts.length, 'a block before it failed');
        const last = number === ran.parts.length - 1;
        assert.ok(!last || ran.code === 0, `it ended with ${ran.code}: ${ran.complained}\n${ran.parts[number]}`);
        assert.ok(ran.parts[number].trim().length > 0, 'it printed nothing');
      });
    }
  });
}
