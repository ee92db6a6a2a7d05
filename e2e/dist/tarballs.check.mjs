// The tarballs of a release, its checksums, provenance and bills of materials.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { repository } from '../private-stack.mjs';
import { artefact, dist, scratch, sha256, unpack } from './archives.mjs';

const folder = scratch('tarballs');
after(() => rmSync(folder, { recursive: true, force: true }));

const json = (name) => JSON.parse(readFileSync(join(dist, name), 'utf8'));

test('sha256sum accepts the checksums, and they name every artefact', () => {
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: dist });
  const named = readFileSync(join(dist, 'SHA256SUMS'), 'utf8').trim().split('\n').map((line) => line.split('  ')[1]);
  assert.deepEqual(named, readdirSync(dist).filter((name) => name !== 'SHA256SUMS').sort());
});

test('the provenance names each artefact with its digest, and the commit', () => {
  const statement = json('provenance.intoto.json');
  assert.deepEqual([statement._type, statement.predicateType], ['https://in-toto.io/Statement/v1', 'https://slsa.dev/provenance/v1']);
  for (const { name, digest } of statement.subject) assert.equal(digest.sha256, sha256(join(dist, name)), name);
  assert.ok(statement.subject.some(({ name }) => name.endsWith('.oci.tar')));
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: repository, encoding: 'utf8' }).trim();
  assert.equal(statement.predicate.buildDefinition.resolvedDependencies[0].digest.gitCommit, commit);
});

test('the bills of materials of the images also list what comes from the system', () => {
  const names = (file) => json(file).components.map(({ name }) => name);
  assert.ok(names('edge-image.cdx.json').includes('workerd') && !names('edge.cdx.json').includes('workerd'));
  assert.ok(names('origin-image.cdx.json').length >= names('origin.cdx.json').length);
});

describe("the origin's tarball", () => {
  let root;
  before(() => {
    const archive = artefact('rds-origin-', '.tar.gz');
    root = join(unpack(archive, folder), basename(archive, '.tar.gz'));
  });

  test('contains a program that runs, and knows its version', () => {
    const said = execFileSync(join(root, 'bin/rds-origin'), ['--version'], { encoding: 'utf8', env: {} });
    assert.match(said, /^rds-origin \d+\.\d+\.\d+/);
    assert.ok(basename(root).includes(said.trim().split(' ')[1]));
  });

  test('contains a man page of each command, and completions', () => {
    const pages = readdirSync(join(root, 'share/man/man1'));
    for (const page of ['rds-origin.1', 'rds-origin-serve.1', 'rds-origin-keys-mint.1']) assert.ok(pages.includes(page), page);
    assert.match(readFileSync(join(root, 'share/man/man1/rds-origin-migrate.1'), 'utf8'), /^\.TH rds-origin-migrate 1/m);
    execFileSync('bash', ['-n', join(root, 'share/bash-completion/completions/rds-origin')]);
    for (const file of ['share/zsh/site-functions/_rds-origin', 'share/fish/vendor_completions.d/rds-origin.fish']) {
      assert.match(readFileSync(join(root, file), 'utf8'), /doctor/, file);
    }
  });

  test('contains what the documents of deployment name', () => {
    for (const file of ['deploy/postgres/roles.sql', 'deploy/compose.yaml', 'deploy/systemd/rds-origin.service', 'deploy/kubernetes/origin.yaml', 'docs/handbook/deploy.md', 'origin/alerts.yml', 'origin/slo.yml', 'LICENSE']) {
      assert.equal(readFileSync(join(root, file), 'utf8'), readFileSync(join(repository, file), 'utf8'), file);
    }
  });
});

test("the edge's tarball is a whole release", () => {
  const archive = artefact('rds-edge-', '.tar.gz');
  const root = join(unpack(archive, folder), basename(archive, '.tar.gz'));
  for (const file of ['worker.capnp', 'cache-store.mjs', 'entry.mjs', 'build/index.js', 'build/index_bg.wasm']) assert.ok(readFileSync(join(root, file)).length > 0, file);
  assert.ok(readdirSync(join(root, 'build/assets')).length > 10);
});
