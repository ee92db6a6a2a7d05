// The files for running the service elsewhere, each checked by the tool or the schema of its kind. What this machine can start is started in images.check.mjs and
// self-hosted-edge.test.mjs.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import Ajv from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { repository } from '../private-stack.mjs';
import { scratch, written } from './archives.mjs';

const folder = scratch('manifests');
after(() => rmSync(folder, { recursive: true, force: true }));
const deploy = join(repository, 'deploy');
const text = (name) => readFileSync(join(deploy, name), 'utf8');
const version = /^version = "([^"]+)"/m.exec(readFileSync(join(repository, 'Cargo.toml'), 'utf8'))[1];

/** Variables and keys that the programs read. */
const worker = [...text('workerd/worker.capnp').matchAll(/fromEnvironment = "(\w+)"/g)].map(([, name]) => name);
const origin = [...readFileSync(join(repository, 'origin/src/config/variables.rs'), 'utf8').matchAll(/"((?:RDS_|DATABASE_)\w+)"/g)].map(([, name]) => name);

describe('deploy/compose.yaml', () => {
  const compose = parse(text('compose.yaml'), { merge: true });

  test("fits Compose's schema", () => {
    const packed = dirname(createRequire(import.meta.url).resolve('dclint/package.json'));
    const schema = JSON.parse(readFileSync(join(packed, 'schemas/compose.schema.json'), 'utf8'));
    delete schema.$schema;
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
    const isValid = ajv.validate(schema, compose);
    assert.ok(isValid, JSON.stringify(ajv.errors));
  });

  test('mounts files that exist, and sets only variables that the programs read', () => {
    for (const [name, service] of Object.entries(compose.services)) {
      for (const volume of service.volumes ?? []) {
        const from = volume.split(':')[0];
        if (from.startsWith('.')) assert.ok(statSync(join(deploy, from)).size > 0, `${name}: ${from}`);
      }
    }
    for (const name of ['origin-a', 'origin-b', 'migrate']) {
      for (const variable of Object.keys(compose.services[name].environment)) assert.ok(origin.includes(variable), `${name}: ${variable}`);
    }
    for (const variable of Object.keys(compose.services.edge.environment)) assert.ok(worker.includes(variable), variable);
  });

  test('uses this release, publishes only the proxy and, on this machine, the dashboard, and hardens what is ours', () => {
    const published = Object.entries(compose.services).filter(([, { ports }]) => ports).map(([name, { ports }]) => [name, ...ports]);
    assert.deepEqual(published, [['proxy', '80:80', '443:443'], ['dashboard', '127.0.0.1:3000:3000']]);
    for (const name of ['origin-a', 'origin-b', 'migrate', 'edge']) {
      const { image, read_only: isReadOnly, cap_drop: dropped } = compose.services[name];
      assert.ok(image.endsWith(`:${version}}`), image);
      assert.deepEqual([isReadOnly, dropped], [true, ['ALL']], name);
    }
  });

  test('takes every variable and secret from the files that secrets.sh writes, once', () => {
    const copy = join(folder, 'deploy');
    mkdirSync(join(copy, 'compose'), { recursive: true });
    const script = join(copy, 'compose/secrets.sh');
    copyFileSync(join(deploy, 'compose/secrets.sh'), script);
    execFileSync('sh', [script]);
    const first = readFileSync(join(copy, '.env'), 'utf8');
    const given = Object.fromEntries([...first.matchAll(/^(\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]));
    const wanted = [...text('compose.yaml').matchAll(/\$\{(\w+):\?\}/g)].map(([, name]) => name);
    assert.deepEqual(wanted.filter((name) => !(name in given)), []);
    const secrets = Object.values(compose.secrets).map(({ file }) => file);
    assert.deepEqual(secrets, ['./secrets/admin_token']);
    assert.equal(readFileSync(join(copy, 'secrets/admin_token'), 'utf8'), given.RDS_ADMIN_TOKEN);
    const mode = (name) => statSync(join(copy, name)).mode & 0o777;
    assert.deepEqual([mode('.env'), mode('secrets')], [0o600, 0o700]);
    assert.equal(spawnSync('sh', [script]).status, 1, 'a second time');
    assert.equal(readFileSync(join(copy, '.env'), 'utf8'), first);
    const ignored = execFileSync('git', ['check-ignore', 'deploy/.env', ...secrets.map((file) => join('deploy', file))], { cwd: repository, encoding: 'utf8' });
    assert.equal(ignored.trim().split('\n').length, 2, 'Git, and so the tarball, leaves them out');
    execFileSync('sh', ['-n', join(deploy, 'compose/passwords.sh')]);
  });

  test('Caddy accepts the configuration of the proxy', { skip: !process.env.RDS_PROXIES }, () => {
    const { caddy } = JSON.parse(process.env.RDS_PROXIES);
    const environment = { PATH: process.env.PATH, HOME: folder, RDS_HOST: 'localhost', LD_LIBRARY_PATH: process.env.RDS_PROXY_LIBS ?? '' };
    const done = spawnSync(caddy, ['validate', '--config', join(deploy, 'compose/Caddyfile'), '--adapter', 'caddyfile'], { env: environment, encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
  });

  test('the scrape loads the alerts and objectives that the product ships', () => {
    const scrape = parse(text('compose/prometheus.yml'));
    assert.deepEqual(scrape.rule_files, ['alerts.yml', 'slo.yml'].map((name) => `/etc/prometheus/${name}`));
    for (const file of scrape.rule_files) assert.ok(compose.services.metrics.volumes.includes(`../origin/${basename(file)}:${file}:ro`), file);
    const [job] = scrape.scrape_configs;
    assert.equal(job.job_name, 'rds-origin');
    assert.deepEqual(job.static_configs[0].targets, ['origin-a:8790', 'origin-b:8790']);
  });
});

describe('deploy/systemd', () => {
  const units = readdirSync(join(deploy, 'systemd')).filter((name) => name.endsWith('.service'));
  const skip = spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd-analyze is not installed';

  test('systemd-analyze finds no fault, and grades the units as well protected', { skip }, () => {
    const programs = written(folder, 'true', '#!/bin/sh\n');
    execFileSync('chmod', ['755', programs]);
    for (const name of units) {
      // The programs are not installed here, nor their man pages.
      const unit = text(`systemd/${name}`).replace(/^Documentation=.*\n/m, '').replaceAll(/^ExecStart=\S+/gm, `ExecStart=${programs}`);
      const file = join(folder, name);
      writeFileSync(file, unit);
      const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      assert.deepEqual([verified.status, verified.stderr], [0, ''], name);
      // 0 is the best grade, 10 the worst; `--threshold` takes tenths.
      const graded = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', '--threshold=20', file], { encoding: 'utf8' });
      assert.equal(graded.status, 0, graded.stdout);
    }
  });

  test('the examples set only variables that the programs read', () => {
    const set = (name) => [...text(`systemd/${name}`).matchAll(/^(\w+)=/gm)].map(([, variable]) => variable);
    for (const variable of set('origin.env.example')) assert.ok(origin.includes(variable), variable);
    for (const variable of set('edge.env.example')) assert.ok(variable === 'RDS_EDGE_LISTEN' || worker.includes(variable), variable);
  });
});

describe('deploy/kubernetes', () => {
  const files = readdirSync(join(deploy, 'kubernetes')).filter((name) => name.endsWith('.yaml'));
  const objects = files.flatMap((name) => parseAllDocuments(text(`kubernetes/${name}`)).map((document) => document.toJS()));
  const of = (kind, name) => objects.find((object) => object.kind === kind && object.metadata.name === name);

  test('kubernetes-validate accepts every object, for an old and a new version', { skip: !process.env.RDS_KUBERNETES }, () => {
    const manifests = files.filter((name) => name !== 'kustomization.yaml').map((name) => join(deploy, 'kubernetes', name));
    for (const kubernetes of ['1.30.0', '1.37.0']) {
      const done = spawnSync(process.env.RDS_KUBERNETES, ['-m', 'kubernetes_validate', '--strict', '-k', kubernetes, ...manifests], { encoding: 'utf8' });
      assert.equal(done.status, 0, done.stdout + done.stderr);
      assert.ok((done.stdout + done.stderr).split(' passed for ').length > 10, 'the objects were read');
    }
  });

  test('the kustomization lists files that exist, and the release', () => {
    const { resources, images } = parse(text('kubernetes/kustomization.yaml'));
    for (const name of resources) assert.ok(files.includes(name), name);
    assert.deepEqual(files.filter((name) => !resources.includes(name)).sort(), ['kustomization.yaml', 'secrets.example.yaml']);
    assert.deepEqual(images.map(({ name, newTag }) => [name, newTag]), [['rds-origin', version], ['rds-edge', version]]);
  });

  test('a stopping pod has the time that the service needs', () => {
    const { template } = of('Deployment', 'rds-origin').spec;
    const lameDuck = Number(of('ConfigMap', 'rds-origin').data.RDS_LAME_DUCK_SECONDS);
    const { periodSeconds, failureThreshold, httpGet } = template.spec.containers[0].readinessProbe;
    assert.deepEqual([httpGet.path, httpGet.port], ['/ready', 'admin']);
    assert.ok(lameDuck > periodSeconds * failureThreshold, 'the balancer notices');
    assert.ok(template.spec.terminationGracePeriodSeconds >= lameDuck + 10 + 5, 'requests in progress end');
  });

  test('pods have no rights, and only variables that the programs read', () => {
    for (const [kind, name] of [['Deployment', 'rds-origin'], ['StatefulSet', 'rds-edge'], ['Job', 'rds-migrate']]) {
      const pod = of(kind, name).spec.template.spec;
      assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser, pod.automountServiceAccountToken], [true, 65532, false], name);
      const context = pod.containers[0].securityContext;
      assert.deepEqual([context.readOnlyRootFilesystem, context.allowPrivilegeEscalation, context.capabilities.drop], [true, false, ['ALL']], name);
    }
    for (const kind of ['ConfigMap', 'Secret']) {
      const variables = (name) => Object.keys(of(kind, name).data ?? of(kind, name).stringData);
      for (const variable of variables('rds-origin')) assert.ok(origin.includes(variable), variable);
      for (const variable of variables('rds-edge')) assert.ok(worker.includes(variable), variable);
    }
  });
});

test('the environments of wrangler.toml set and bind what the default does', () => {
  const toml = readFileSync(join(repository, 'wrangler.toml'), 'utf8');
  const names = (section) => [...section.matchAll(/^(\w+) = /gm)].map(([, name]) => name).sort();
  const [top] = toml.split('\n[env.');
  const vars = names(top.split('[vars]')[1].split('\n[[')[0]);
  const bindings = [...top.matchAll(/^name = "([A-Z]+)"\nclass_name = "(\w+)"/gm)].map(([, name, found]) => `${name} ${found}`);
  assert.equal(bindings.length, 4);
  for (const environment of ['staging', 'production']) {
    const [, own] = toml.split(`[env.${environment}.vars]\n`);
    assert.deepEqual(names(own.split('\n[')[0]), vars, environment);
    const [, bound] = toml.split(`[env.${environment}.durable_objects]\n`);
    assert.deepEqual([...bound.split('\n[')[0].matchAll(/name = "([A-Z]+)", class_name = "(\w+)"/g)].map(([, name, found]) => `${name} ${found}`), bindings);
  }
});
