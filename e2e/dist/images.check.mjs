// The container images, started as a container engine starts them: read-only root, without rights, on a database with the roles that the product ships.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { ended, freePorts, repository } from '../private-stack.mjs';
import { until } from '../stack.mjs';
import { artefact, image, isRoot, run, scratch } from './archives.mjs';

const folder = scratch('images');
// The images' user enters it.
chmodSync(folder, 0o755);
const NOBODY = 65532;
const key = `k1:${randomBytes(32).toString('hex')}`;
const token = randomBytes(32).toString('hex');
const password = randomBytes(16).toString('hex');
const started = [];
let origin;
let edge;
let ports;
let url;

before(async () => {
  origin = image(artefact('rds-origin-', '.oci.tar'), join(folder, 'origin'));
  edge = image(artefact('rds-edge-', '.oci.tar'), join(folder, 'edge'));
  const first = await freePorts(4);
  ports = { edge: first, origin: first + 1, relay: first + 2, admin: first + 3 };
  const name = `images_${process.pid}`;
  const client = new pg.Client(process.env.RDS_DATABASE_URL);
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  url = new URL(process.env.RDS_DATABASE_URL);
  url.pathname = `/${name}`;
  const database = new pg.Client(url.href);
  await database.connect();
  await database.query(readFileSync(join(repository, 'deploy/postgres/roles.sql'), 'utf8'));
  for (const role of ['migrate', 'serve']) await database.query(`ALTER ROLE rds_${role} PASSWORD '${password}'`);
  await database.end();
}, { timeout: 120_000 });

after(async () => {
  for (const child of started) await ended(child, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** The address of the database for a role. */
const as = (role) => Object.assign(new URL(url), { username: `rds_${role}`, password }).href;

const environment = () => ({
  DATABASE_URL: as('serve'),
  RDS_EDGE_ADDR: `127.0.0.1:${ports.origin}`,
  RDS_RELAY_ADDR: `127.0.0.1:${ports.relay}`,
  RDS_ADMIN_ADDR: `0.0.0.0:${ports.admin}`,
  RDS_EDGE_URL: `http://127.0.0.1:${ports.edge}`,
  RDS_EDGE_ASSERTION_KEYS: key,
  RDS_ADMIN_TOKEN: token,
  RDS_MASTER_KEY: randomBytes(32).toString('hex'),
  RDS_LAME_DUCK_SECONDS: '0',
});

function start(...given) {
  const child = run(...given);
  started.push(child);
  return child;
}

const status = (port, target) => fetch(`http://127.0.0.1:${port}${target}`).then(async (answer) => (await answer.arrayBuffer(), answer.status), () => 0);

describe('each image', () => {
  test('runs as a user without a name on the host, and says what it is', () => {
    for (const { config, manifest } of [origin, edge]) {
      assert.equal(config.config.User, `${NOBODY}:${NOBODY}`);
      assert.equal(config.os, 'linux');
      assert.match(manifest.annotations['org.opencontainers.image.revision'], /^[0-9a-f]{40}$/);
    }
    assert.deepEqual(origin.config.config.Healthcheck.Test, ['CMD', '/usr/bin/rds-origin', 'ready']);
  });

  test('contains one program and what it loads: no shell, nothing with more rights than its user', () => {
    for (const { root } of [origin, edge]) {
      const programs = readdirSync(join(root, 'usr/bin'));
      assert.equal(programs.length, 1, String(programs));
      const found = execFileSync('find', [root, '-xdev', '-perm', '/6000'], { encoding: 'utf8' });
      assert.equal(found, '', 'setuid or setgid');
    }
    assert.equal(statSync(join(edge.root, 'var/lib/rds-edge/objects')).uid, isRoot ? NOBODY : process.getuid());
  });

  test('skopeo reads it', { skip: !hasProgram('skopeo') }, () => {
    for (const name of ['rds-origin-', 'rds-edge-']) {
      const said = JSON.parse(execFileSync('skopeo', ['inspect', '--config', `oci-archive:${artefact(name, '.oci.tar')}`], { encoding: 'utf8' }));
      assert.equal(said.config.User, `${NOBODY}:${NOBODY}`);
    }
  });
});

describe('the service from images', () => {
  test('the migration ends well', async () => {
    const migrate = start(origin, { words: ['migrate'], environment: { DATABASE_URL: as('migrate') } });
    assert.equal(await migrate.done, 0, migrate.said);
    assert.match(migrate.said, /rights granted to rds_serve and rds_read/);
  });

  test('the origin becomes ready, and its health check agrees', { timeout: 120_000 }, async () => {
    const early = start(origin, { words: ['ready'], environment: environment() });
    assert.equal(await early.done, 1, 'nothing listens yet');
    const serving = start(origin, { environment: environment() });
    await until('the origin is ready', 60, async () => {
      assert.equal(serving.exitCode, null, serving.said);
      return (await status(ports.admin, '/ready')) === 200;
    });
    const check = start(origin, { words: ['ready'], environment: environment() });
    assert.equal(await check.done, 0, check.said);
    const doctor = start(origin, { words: ['doctor'], environment: environment() });
    await doctor.done;
    assert.match(doctor.said, /ok +rights +rds_serve has the rights that serving needs, and no others/);
  });

  test('the edge answers from it, and keeps its counts in the volume', { timeout: 120_000 }, async () => {
    const objects = join(folder, 'objects');
    mkdirSync(objects);
    if (isRoot) chownSync(objects, NOBODY, NOBODY);
    const words = edge.config.config.Cmd.map((word) => word.replace('0.0.0.0:8787', `127.0.0.1:${ports.edge}`));
    const running = start(edge, {
      words,
      environment: { ORIGIN_URL: `http://127.0.0.1:${ports.origin}`, ASSERTION_KEY: key },
      writable: { '/var/lib/rds-edge/objects': objects },
    });
    await until('the edge is ready', 60, async () => {
      assert.equal(running.exitCode, null, running.said);
      return (await status(ports.edge, '/ready')) === 200;
    });
    for (const target of ['/v1/vaults', '/v1/docs', '/v1/health']) assert.equal(await status(ports.edge, target), 200, `${target}: ${running.said}`);
    assert.ok(readdirSync(objects).includes('AddressGuard'));
  });

  test('both end in order when they are asked to', async () => {
    for (const child of started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const code = await ended(child, 'SIGTERM');
      assert.ok([0, 'SIGTERM'].includes(code), `${code}: ${child.said}`);
    }
    assert.equal(await status(ports.admin, '/ready'), 0);
  });
});

function hasProgram(name) {
  return (process.env.PATH ?? '').split(':').some((path) => {
    try {
      return statSync(join(path, name)).isFile();
    } catch {
      return false;
    }
  });
}
