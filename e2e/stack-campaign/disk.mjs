// The database's disk: a separate file system that can be filled to the last byte, and backups of its content.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Room for the data, its log and their growth over a campaign. */
const DISK_MEGABYTES = 768;
/** Size of a write while the disk is filled. */
const CHUNK = Buffer.alloc(1 << 20);

/** The data directory of a cluster, moved to a separate file system if one can be mounted; otherwise `limit` says why not. */
export class Disk {
  #home;
  #ids;
  #filler;

  /** `how` is the start command of the server; its `-D` is set to the new directory. The server must not run. */
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
      this.limit = `a separate file system cannot be mounted: ${String(error.stderr ?? error.message).trim()}`;
    }
    this.#filler = join(this.mounted ?? how.folder, 'filler');
  }

  /** Fills the disk until no byte is free. */
  async fill() {
    const file = await open(this.#filler, 'a');
    try {
      for (let piece = CHUNK; piece.length > 0; ) {
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

  /** Whether less than one database page (8 KiB) is free. */
  get isFull() {
    const { bavail, bsize } = statfsSync(this.mounted);
    return bavail * bsize < 8192;
  }

  /** Removes the filler file. */
  free() {
    rmSync(this.#filler, { force: true });
  }

  /**
   * Makes a base backup of the running server by the low-level API of Postgres: a copy of the files between `pg_backup_start` and
   * `pg_backup_stop`, under load. Returns its folder.
   */
  async backUp(postgres, name) {
    const into = join(this.#home, name);
    rmSync(into, { recursive: true, force: true });
    const client = await postgres.connect();
    try {
      await client.query("select pg_backup_start('campaign', true)");
      // Files may appear and disappear during the copy; recovery from the log, which is copied last, restores their state.
      await run('cp', ['-a', this.data, into]).catch((error) => {
        if (!/No such file/.test(error.stderr)) throw error;
      });
      for (const running of ['postmaster.pid', 'postmaster.opts', 'pg_wal']) rmSync(join(into, running), { recursive: true, force: true });
      const { rows } = await client.query('select labelfile from pg_backup_stop(true)');
      await run('cp', ['-a', join(this.data, 'pg_wal'), join(into, 'pg_wal')]).catch((error) => {
        if (!/No such file/.test(error.stderr)) throw error;
      });
      writeFileSync(join(into, 'backup_label'), rows[0].labelfile);
      // Makes the server recover from the backup and start a new timeline.
      writeFileSync(join(into, 'recovery.signal'), '');
      for (const file of ['backup_label', 'recovery.signal']) this.#handOver(join(into, file));
    } finally {
      await client.end().catch(() => {});
    }
    return into;
  }

  /** Replaces the data by a backup. The server must not run. */
  async restore(from) {
    rmSync(this.data, { recursive: true, force: true });
    await run('cp', ['-a', from, this.data]);
    chmodSync(this.data, 0o700);
    this.#handOver(this.data);
  }

  /** Makes the server start a new timeline where it was stopped, like a promoted replica without lag. The server must not run. */
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
      // The file system is no longer mounted.
    }
  }

  #handOver(file) {
    if (this.#ids) chownSync(file, ...this.#ids);
  }
}
