// A machine for trying the documents of deployment: an installed Debian as root folder, with process, network and mount namespaces of its own. What is written
// stays in a scratch folder. Its network has no way out. Needs root.

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../stack.mjs';

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Exists in the machine's root folder only. */
const MARK = '/etc/rds-machine';

/** Arguments: the installed system, the scratch folder, a folder to be seen as /srv/debian, the program to run as the machine's first process. */
const BOOT = `set -e
system=$1 folder=$2 debian=$3; shift 3
root=$folder/root
ip link set lo up
mount -t overlay overlay -o "lowerdir=$system,upperdir=$folder/changes,workdir=$folder/work" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
# A second hierarchy of control groups beside those of version 1, which container runtimes refuse if it has controllers.
if [ -d /sys/fs/cgroup/memory ] && [ -d /sys/fs/cgroup/unified ]; then umount "$root/sys/fs/cgroup/unified"; fi
mount --rbind /dev "$root/dev"
for path in /dev/shm /run /tmp; do mount -t tmpfs tmpfs "$root$path"; done
# Layers of images cannot be stacked on a stacked file system.
mkdir -p "$root/var/lib/docker" "$root/srv"
mount --bind "$folder/docker" "$root/var/lib/docker"
mount --bind "$folder/shared" "$root/srv"
mount --bind "$debian" "$root/srv/debian"
mkdir -p "$root/srv/old"
touch "$root${MARK}"
# The root of the namespace, not only of its processes: a container's namespace begins as a copy of it.
cd "$root"
pivot_root . srv/old
cd /
umount --lazy /srv/old
exec "$@"`;

export class Machine {
  #first;
  #pid;

  /**
   * Boots the system in the folder `system` with the container engine's daemon; resolves when the engine answers. `folder/shared` is the machine's /srv, and
   * `debian` its /srv/debian.
   */
  static async boot(system, folder, debian) {
    for (const name of ['root', 'changes', 'work', 'docker', 'shared/debian']) mkdirSync(join(folder, name), { recursive: true });
    const machine = new Machine();
    machine.said = '';
    const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child'];
    // The machine ends with this process, however that ends.
    const first = spawn('setpriv', ['--pdeathsig=KILL', 'unshare', ...namespaces, 'sh', '-c', BOOT, 'sh', system, folder, debian, 'tini', '--', 'dockerd'], { env: { PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [first.stdout, first.stderr]) stream.on('data', (chunk) => (machine.said += chunk));
    machine.#first = first;
    await until('the engine answers', 60, async () => {
      if (first.exitCode !== null) throw new Error(`the machine ended with ${first.exitCode}:\n${machine.said}`);
      const children = `/proc/${first.pid}/task/${first.pid}/children`;
      machine.#pid = existsSync(children) ? readFileSync(children, 'utf8').trim() : '';
      return machine.#pid !== '' && (await machine.run(`test -e ${MARK} && docker version`)).status === 0;
    });
    return machine;
  }

  /** The words that run a command in these namespaces of the machine. */
  enter(...namespaces) {
    return ['nsenter', `--target=${this.#pid}`, ...namespaces.map((name) => `--${name}`)];
  }

  /** Runs one command in a shell of its own: `{status, output}`. */
  async run(command) {
    const shell = this.shell();
    const done = await shell.run(command);
    shell.close();
    return done;
  }

  /** A shell that stays open, as an operator's does. */
  shell() {
    const [nsenter, ...words] = this.enter('mount', 'net', 'pid');
    return new Shell(spawn(nsenter, [...words, 'sh', '-c', 'cd /root && exec bash --norc'], { env: { PATH, HOME: '/root' }, stdio: ['pipe', 'pipe', 'pipe'] }));
  }

  /** Stops every container and the engine, as the shutdown of a machine does; resolves to the engine's exit code. */
  async shutDown() {
    const first = this.#first;
    if (first.exitCode !== null || first.signalCode !== null) return first.exitCode ?? first.signalCode;
    const end = new Promise((resolve) => first.once('exit', (code, signal) => resolve(code ?? signal)));
    // To its child, the machine's first process: `unshare` itself passes no signal on.
    process.kill(Number(this.#pid), 'SIGTERM');
    return end;
  }
}

class Shell {
  #child;
  #output = '';
  #changed = () => {};

  constructor(child) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        this.#output += chunk;
        this.#changed();
      });
    }
    child.once('close', () => this.#changed());
    child.stdin.on('error', () => {});
  }

  /** Runs a command, and waits for its end: `{status, output}`. The output contains both streams. */
  run(command) {
    const mark = randomUUID();
    const ending = new RegExp(`${mark} (\\d+)\\n`);
    this.#output = '';
    // Both streams end with the mark, so that nothing of either is missed.
    this.#child.stdin.write(`${command}\nstatus=$?; echo "${mark} $status" >&2; echo "${mark} $status"; (exit $status)\n`);
    return new Promise((resolve) => {
      this.#changed = () => {
        const ends = this.#output.split(ending);
        const isOver = this.#child.exitCode !== null || this.#child.signalCode !== null;
        if (ends.length < 5 && !isOver) return;
        resolve({ status: ends.length < 5 ? 'ended' : Number(ends[1]), output: this.#output.replaceAll(new RegExp(ending, 'g'), '') });
      };
      this.#changed();
    });
  }

  close() {
    this.#child.stdin.end();
  }
}
