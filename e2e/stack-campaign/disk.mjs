// The database's disk: a file system of its own that can be filled to the last byte, and backups of what is on it.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Room for the data, its log and their growth over a campaign. */
const DISK_MEGABYTES = 768;
/** What is written at once while the disk is filled. */
const PIECE = Buffer.alloc(1 << 20);

/** Where a cluster's data lies. Moves it to a file system of its own where that is allowed; `limit` says why it is not. */
export class Disk {
  #home;
  #ids;
  #filler;

  /** `how` is what starts the server: its `-D` is led to the new place. The server must not run. */
  constructor(how) {
    this.#home = how.folder;
    this.#ids = how.uid === null ? undefined : [how.uid, how.gid];
    const place = how.arguments.indexOf('-D') + 1;
    const [first, mounted] = [how.arguments[place], join(how.folder, 'disk')];
    try {
      mkdirSync(mounted);
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MEGABYTES}m,mode=0755`, 'tmpfs', mounted], { stdio: 'pipe' });
      this.mounted = mounted;
      process.once('exit', () => this.release());
      this.data = join(mounted, 'data');
      execFileSync('cp', ['-a', first, this.data]);
      how.arguments = how.arguments.with(place, this.data);
    } catch (error) {
      this.data = first;
      this.limit = `a file system of its own cannot be mounted: ${String(error.stderr ?? error.message).trim()}`;
    }
    this.#filler = join(this.mounted ?? how.folder, 'filler');
  }

  /** Writes until nothing more fits. */
  async fill() {
    const file = await open(this.#filler, 'a');
    try {
      for (let piece = PIECE; piece.length > 0; ) {
        try {
          const { bytesWritten } = await file.write(piece);
          if (bytesWritten < piece.length) piece = piece.subarray(0, piece.length >> 1);
        } catch (error) {
          if (error.code !== 'ENOSPC') throw error;
          piece = piece.subarray(0, piece.length >> 1);
        }
      }
    } finally {
      await file.close();
    }
  }

  /** Whether not even a page fits. */
  get isFull() {
    const { bavail, bsize } = statfsSync(this.mounted);
    return bavail * bsize < 8192;
  }

  /** Gives the room back. */
  free() {
    rmSync(this.#filler, { force: true });
  }

  /**
   * A base backup of the running server, as any tool of Postgres makes one: between the two calls that mark it, under load. Gives
   * the folder that holds it.
   */
  async backUp(postgres, name) {
    const into = join(this.#home, name);
    rmSync(into, { recursive: true, force: true });
    const client = await postgres.connect();
    try {
      await client.query("select pg_backup_start('campaign', true)");
      // Files come and go while it copies; the log that is copied afterwards says what became of them.
      await run('cp', ['-a', this.data, into]).catch((error) => {
        if (!/No such file/.test(error.stderr)) throw error;
      });
      for (const running of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) rmSync(join(into, running), { recursive: true, force: true });
      const { rows } = await client.query('select labelfile from pg_backup_stop(true)');
      await run('cp', ['-a', join(this.data, 'pg_wal'), join(into, 'pg_wal')]).catch((error) => {
        if (!/No such file/.test(error.stderr)) throw error;
      });
      writeFileSync(join(into, 'backup_label'), rows[0].labelfile);
      // What is recovered from a backup becomes a timeline of its own.
      writeFileSync(join(into, 'recovery.signal'), '');
      for (const file of ['backup_label', 'recovery.signal']) this.#handOver(join(into, file));
    } finally {
      await client.end().catch(() => {});
    }
    return into;
  }

  /** Puts a backup in the place of the data. The server must not run. */
  async restore(from) {
    rmSync(this.data, { recursive: true, force: true });
    await run('cp', ['-a', from, this.data]);
    chmodSync(this.data, 0o700);
    this.#handOver(this.data);
  }

  /** Has the server begin a timeline of its own where it was stopped, as a replica does that had everything. The server must not run. */
  promote() {
    const signal = join(this.data, 'recovery.signal');
    writeFileSync(signal, '');
    this.#handOver(signal);
  }

  release() {
    if (this.mounted === undefined) return;
    try {
      execFileSync('umount', ['-l', this.mounted], { stdio: 'pipe' });
    } catch {
      // It is gone already.
    }
  }

  #handOver(file) {
    if (this.#ids) chownSync(file, ...this.#ids);
  }
}
