// What a campaign saw, as histories for a linearizability checker that is not ours (`cargo xtask histories`).

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An instant as the checker reads it; null if the end is not known. */
export const ending = (ended) => (Number.isFinite(ended) ? ended : null);

/** The journal as a log: each committed operation with the sequence number under which a client was shown it. */
export function ofJournal(clients, committed) {
  const numbers = new Map(clients.flatMap(({ frames }) => frames.filter(({ title }) => title !== undefined).map(({ title, number }) => [title, number])));
  return [...committed.values()]
    .filter(({ title }) => numbers.has(title))
    .map(({ title, began, ended }) => ({ object: 'the journal', as: 'log', who: title, write: Number(numbers.get(title)), began, ended: ending(ended) }));
}

/** What the checker says about the histories; throws with its words if one of them cannot be explained. */
export function judged(operations) {
  const folder = mkdtempSync(join(tmpdir(), 'histories-'));
  try {
    const file = join(folder, 'histories.jsonl');
    writeFileSync(file, operations.map((operation) => `${JSON.stringify(operation)}\n`).join(''));
    return execFileSync(process.env.RDS_XTASK, ['histories', file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    throw new Error(error.stderr || error.message);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
