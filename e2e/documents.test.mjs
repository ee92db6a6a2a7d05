// What the README and the operator's page tell people to type works: their blocks marked `run` are run, in order, in one shell.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { originEnvironment, repository } from './private-stack.mjs';
import { newCaller, sharedStack } from './stack.mjs';

const stack = sharedStack();
/** Where the documents say that the stack is. */
const ADDRESSES = { 'http://127.0.0.1:8787': stack.edge, 'http://127.0.0.1:8789': stack.relay, 'http://127.0.0.1:8790': stack.admin };
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

for (const [file, least] of [['README.md', 12], ['origin/OPERATING.md', 4]]) {
  describe(file, () => {
    const found = blocks(file);
    let ran;

    before(async () => {
      ran = await run(found);
    }, { timeout: 180_000 });

    test('has blocks to run', () => assert.ok(found.length >= least, `${found.length}`));

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
