// "From an empty machine" in deploy/README.md, on an empty machine: its commands are run as they stand, with Docker and Compose as Debian 13 installs them and
// with deploy/compose.yaml as it is. Images that the engine would fetch have stand-ins (`stand-ins/`), because the machine has no way out.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { repository } from '../private-stack.mjs';
import { until } from '../stack.mjs';
import { dist, scratch } from './archives.mjs';
import { Machine } from './machine.mjs';

const DOCUMENT = 'deploy/README.md';
const section = readFileSync(join(repository, DOCUMENT), 'utf8').split('\n## From an empty machine\n')[1].split('\n## ')[0];
const commands = /^```sh\n([^]*?)^```$/m.exec(section)[1].trim().split('\n');
/** `{system, standIns, install}`: folders with an installed Debian, and the command that installed the engine in the first; or `{missing}`, the reason. */
const machines = JSON.parse(process.env.RDS_MACHINES ?? '{"missing": "not started by cargo xtask test dist"}');

/** Commands that are not run as they stand, by their beginning, and what is run instead. */
const INSTEAD = {
  'apt-get update && apt-get install': 'true # run before, with the network, to make this machine',
  'apt-get install --yes build-essential': 'true # the build was on another machine',
  'cargo xtask dist': 'mkdir target && cp -r /srv/dist target/dist',
};
const STAND_INS = { postgres: 'postgres:17', caddy: 'caddy:2', prometheus: 'prom/prometheus:v3.5.0', grafana: 'grafana/grafana:12.4.0' };

test('the document has at most ten commands, and deploy/compose.yaml wants no other images', () => {
  assert.ok(commands.length <= 10, commands.join('\n'));
  const { services } = parse(readFileSync(join(repository, 'deploy/compose.yaml'), 'utf8'), { merge: true });
  const foreign = Object.values(services).map(({ image }) => image).filter((image) => !image.startsWith('${'));
  assert.deepEqual(foreign.sort(), Object.values(STAND_INS).sort());
});

describe('from an empty machine', { skip: machines.missing ?? false }, () => {
  const folder = scratch('machine');
  const shared = join(folder, 'shared');
  let machine;
  let shell;
  let containers;
  /** The document's command that failed, if one has: what follows needs it. */
  let failed;

  /** Runs a command of the operator's shell, which must succeed; returns what it printed. */
  const ok = async (command) => {
    const { status, output } = await shell.run(command);
    assert.equal(status, 0, `${command}\n${output}`);
    return output;
  };
  const grafana = (path) => ok(`curl --silent --show-error --fail --user "admin:$(sed -n 's/^GRAFANA_PASSWORD=//p' .env)" "http://127.0.0.1:3000${path}"`);
  const query = async (expression) => {
    const { status, data } = JSON.parse(await grafana(`/api/datasources/proxy/uid/prometheus/api/v1/query?query=${encodeURIComponent(expression)}`));
    assert.equal(status, 'success');
    return data.result;
  };
  const inspect = async () => {
    const all = JSON.parse(await ok('docker inspect $(docker compose ps --all --quiet)'));
    return Object.fromEntries(all.map((container) => [container.Config.Labels['com.docker.compose.service'], container]));
  };

  before(async () => {
    machine = await Machine.boot(machines.system, folder, machines.standIns);
    shell = machine.shell();
    source(join(shared, 'source'));
    cpSync(dist, join(shared, 'dist'), { recursive: true });
    cpSync(join(import.meta.dirname, 'stand-ins'), join(shared, 'stand-ins'), { recursive: true });
    mkdirSync(join(shared, 'stand-ins/empty'));
    await ok('tar --create --one-file-system --directory /srv/debian . | docker import - stand-ins:debian');
    for (const [name, image] of Object.entries(STAND_INS)) {
      await ok(`DOCKER_BUILDKIT=0 docker build --quiet --network none --tag ${image} --file /srv/stand-ins/${name}.Dockerfile /srv/stand-ins`);
    }
    // This machine may give no process the right to raise the limit.
    await ok('[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 65536 ] || export RDS_OPEN_FILES=$(ulimit -Hn)');
  }, { timeout: 300_000 });

  after(async () => {
    if (machine) await machine.shutDown();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the machine was made by the first command', () => assert.equal(machines.install, commands[0]));

  for (const [index, command] of commands.entries()) {
    test(`${index + 1}: ${command}`, { timeout: 180_000 }, async () => {
      const [, instead] = Object.entries(INSTEAD).find(([beginning]) => command.startsWith(beginning)) ?? [];
      assert.equal(failed, undefined, 'an earlier command failed');
      failed = command;
      const said = await ok(instead ?? command.replace('REPOSITORY', '/srv/source'));
      failed = undefined;
      if (command.includes('/v1/health')) assert.match(said, /"status":\s*"ok"/);
      if (command.includes('/api/dashboards/')) assert.ok(said.includes('"uid": "risk-data-service"'), said);
    });
  }

  test('both origins are ready and healthy, and nothing has more rights than its file says', async () => {
    containers = await inspect();
    assert.deepEqual(Object.keys(containers).sort(), ['dashboard', 'edge', 'metrics', 'migrate', 'origin-a', 'origin-b', 'postgres', 'proxy']);
    for (const name of ['origin-a', 'origin-b', 'postgres']) assert.equal(containers[name].State.Health.Status, 'healthy', name);
    for (const [name, { State: state, HostConfig: host }] of Object.entries(containers)) {
      assert.deepEqual([state.Status, state.ExitCode], [name === 'migrate' ? 'exited' : 'running', 0], name);
      if (name !== 'postgres') assert.deepEqual([host.ReadonlyRootfs, host.CapDrop], [true, ['ALL']], name);
    }
  });

  test('Prometheus scrapes both origins with the token, and records the objectives', { timeout: 90_000 }, async () => {
    await until('both are scraped', 60, async () => (await query('up{job="rds-origin"} == 1')).length === 2);
    const { data } = JSON.parse(await grafana('/api/datasources/proxy/uid/prometheus/api/v1/rules'));
    assert.ok(data.groups.some(({ name }) => name === 'rds-objectives'), JSON.stringify(data.groups.map(({ name }) => name)));
  });

  test('every query of the dashboard is one that Prometheus answers', async () => {
    const { panels } = JSON.parse(readFileSync(join(repository, 'deploy/grafana/risk-data-service.json'), 'utf8'));
    const expressions = panels.flatMap(({ targets }) => targets ?? []).map(({ expr }) => expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '5m'));
    assert.ok(expressions.length > 20);
    for (const expression of expressions) await query(expression);
  });

  test('a killed origin costs no answer, and is started again', { timeout: 120_000 }, async () => {
    const { Pid: pid } = containers['origin-b'].State;
    const key = (await ok('docker compose exec -T origin-a /usr/bin/rds-origin keys mint --org callers --plan embedded --rpm 6000 </dev/null')).split('\n')[0];
    const [nsenter, ...words] = machine.enter('net');
    const options = { env: { PATH: process.env.PATH, KEY: key, CA: await ok('cat root.crt') }, stdio: ['ignore', 'pipe', 'inherit'] };
    const callers = spawn(nsenter, [...words, process.execPath, join(import.meta.dirname, 'callers.mjs')], options);
    const answers = [];
    for await (const line of createInterface({ input: callers.stdout })) {
      answers.push(line);
      if (answers.length === 200) await ok(`kill -KILL ${pid}`);
    }
    const counts = {};
    for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
    assert.deepEqual(counts, { '200 rds-edge; fwd=miss; fwd-status=200; stored': 800 });
    await until('the origin is healthy again', 60, async () => {
      const { RestartCount: restarts, State: state } = (await inspect())['origin-b'];
      return restarts === 1 && state.Health.Status === 'healthy';
    });
  });

  test('`docker compose stop` ends every process in order', { timeout: 120_000 }, async () => {
    await ok('docker compose stop');
    const codes = Object.fromEntries(Object.entries(await inspect()).map(([name, { State: state }]) => [name, state.ExitCode]));
    assert.deepEqual(codes, { dashboard: 0, edge: 0, metrics: 0, migrate: 0, 'origin-a': 0, 'origin-b': 0, postgres: 0, proxy: 0 });
  });

  test('after the next start the key is still valid', { timeout: 120_000 }, async () => {
    await ok(commands.find((command) => command.startsWith('docker compose up')));
    await until('the service answers', 30, async () => (await shell.run(commands.find((command) => command.includes('/v1/health')))).status === 0);
  });
});

/** Writes the files under test, committed or not, as a repository of its own. */
function source(to) {
  mkdirSync(to);
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', 'deploy', 'origin/*.yml'], { cwd: repository });
  const archive = execFileSync('tar', ['--create', '--null', '--files-from=-'], { cwd: repository, input: files, maxBuffer: 1 << 28 });
  execFileSync('tar', ['--extract', '--no-same-owner'], { cwd: to, input: archive });
  const git = (...words) => execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...words], { cwd: to });
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message=The files under test');
}
