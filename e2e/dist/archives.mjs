// Reading a release's artefacts: archives into folders, images with their configuration, programs in an image's root.

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder that `cargo xtask dist` wrote. */
export const dist = process.env.RDS_DIST;
export const isRoot = process.getuid() === 0;

/** A folder of this test run; the caller removes it. */
export const scratch = (name) => mkdtempSync(join(tmpdir(), `rds-dist-${name}-`));

export const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');

/** The path of the only artefact with this beginning and end. */
export function artefact(start, end) {
  const found = readdirSync(dist).filter((name) => name.startsWith(start) && name.endsWith(end));
  if (found.length !== 1) throw new Error(`${start}…${end}: ${found}`);
  return join(dist, found[0]);
}

export function unpack(archive, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xf', archive, '-C', folder, '--numeric-owner', ...(isRoot ? ['--same-owner'] : [])]);
  return folder;
}

/** Unpacks an image: `{config, manifest, root}`. Every digest and size that a document gives is compared. */
export function image(archive, folder) {
  const layout = unpack(archive, join(folder, 'layout'));
  const blob = ({ digest, size }) => {
    const file = join(layout, 'blobs', ...digest.split(':'));
    if (`sha256:${sha256(file)}` !== digest || readFileSync(file).length !== size) throw new Error(`${digest} is another file`);
    return file;
  };
  const json = (descriptor) => JSON.parse(readFileSync(blob(descriptor), 'utf8'));
  const [descriptor] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests;
  const manifest = json(descriptor);
  const config = json(manifest.config);
  const root = join(folder, 'root');
  for (const layer of manifest.layers) unpack(blob(layer), root);
  // A container engine mounts these.
  for (const name of ['proc', 'dev', 'tmp']) mkdirSync(join(root, name), { recursive: true });
  return { descriptor, manifest, config, root };
}

/**
 * Starts the program of an image as a container engine does: on a read-only root of its own, as the image's user, without rights, with the image's
 * environment. `writable` maps paths in the image to folders. The network is this machine's.
 */
export function run({ config, root }, { words = config.config.Cmd, environment = {}, writable = {} } = {}) {
  const { Entrypoint: entrypoint, User: user, WorkingDir: folder, Env: env } = config.config;
  const [uid, gid] = user.split(':');
  const script = [
    'set -e; root=$1; shift',
    'mount --bind "$root" "$root"; mount -o remount,ro,bind "$root"',
    'mount --rbind /proc "$root/proc"; mount --rbind /dev "$root/dev"',
    ...Object.entries(writable).map(([path, from]) => `mount --bind '${from}' "$root${path}"`),
    // Only root can become another user; for others the program runs as the user who runs the tests.
    `exec unshare --root="$root" --wd='${folder}' ${isRoot ? `--setgid ${gid} --setuid ${uid}` : ''} -- "$@"`,
  ].join('\n');
  const words_ = ['--mount', ...(isRoot ? [] : ['--user', '--map-root-user']), 'sh', '-c', script, 'sh', root, ...entrypoint, ...words];
  const set = Object.fromEntries(env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  const child = spawn('unshare', words_, { env: { PATH: process.env.PATH, ...set, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
  child.said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (child.said += chunk));
  child.done = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Writes a file that only its owner may read, and returns its path. */
export function written(folder, name, text) {
  const file = join(folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}
