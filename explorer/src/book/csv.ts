// Positions from a CSV: one a line, with a vault and an amount in US dollars.

import type { GraphCheckBody } from '../types.js';

/** A position of a book. */
export type Position = GraphCheckBody['positions'][number];

/** What a text says: its positions, and the lines that are not positions. */
export interface Book {
  positions: Position[];
  problems: { line: number; text: string; why: string }[];
}

/** `1:0x…`, `protocol-1-0x…`, or `1` and `0x…` in columns of their own. */
const KEY = /^(\d+):(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;
const ID = /^.+-(\d+)-(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;
const ADDRESS = /^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/;
/** Most positions of a check. */
export const MOST_POSITIONS = 200;

/** The cells of a line: separated by commas, semicolons or tabs; quotes hold separators. */
function cells(line: string, separator: string): string[] {
  const found: string[] = [];
  let [cell, quoted] = ['', false];
  for (const [at, sign] of [...line].entries()) {
    if (sign === '"') {
      if (quoted && line[at + 1] === '"') cell += '';
      quoted = !quoted;
    } else if (sign === separator && !quoted) {
      found.push(cell.trim());
      cell = '';
    } else cell += sign;
  }
  return [...found, cell.trim()];
}

/** A number as people write it: `1,000,000.50`, `$1000`, `1 000`. Null if it is none, or not above 0. */
export function amountOf(text: string): number | null {
  const plain = text.replace(/[$\s_']/g, '').replace(/(?<=\d),(?=\d{3}(\D|$))/g, '');
  if (!/^\d+(\.\d+)?$/.test(plain)) return null;
  const value = Number(plain);
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** `chain:address` of a vault as a cell names it. */
export function keyOfVault(text: string): string | null {
  const [, chain, address] = KEY.exec(text) ?? ID.exec(text) ?? [];
  if (!chain || !address) return null;
  return `${chain}:${address.startsWith('0x') ? address.toLowerCase() : address}`;
}

/** Reads a text. A first line without an amount is a header. Positions in the same vault are added up. */
export function read(text: string): Book {
  const sums = new Map<string, number>();
  const problems: Book['problems'] = [];
  const lines = text.split(/\r\n|\r|\n/);
  const separator = text.includes('\t') ? '\t' : text.includes(';') ? ';' : ',';
  let isFirst = true;
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const found = cells(line, separator);
    const wasFirst = isFirst;
    isFirst = false;
    const place = found.findIndex((cell) => keyOfVault(cell) !== null);
    let key = place >= 0 ? keyOfVault(found[place] ?? '') : null;
    let used = [place];
    if (!key) {
      const address = found.findIndex((cell) => ADDRESS.test(cell));
      const chain = found.findIndex((cell, n) => n !== address && /^\d{1,10}$/.test(cell));
      if (address >= 0 && chain >= 0) {
        key = keyOfVault(`${found[chain]}:${found[address]}`);
        used = [address, chain];
      }
    }
    const rest = found.filter((_, n) => !used.includes(n));
    // A thousands separator that is also the separator of the line leaves an amount in several cells.
    const amount = rest.map(amountOf).find((value) => value !== null) ?? null;
    if (!key && amount === null && wasFirst) continue;
    if (!key) problems.push({ line: at + 1, text: line, why: 'no vault: write its id, or the chain and the address as 1:0x…' });
    else if (amount === null) problems.push({ line: at + 1, text: line, why: 'no amount above 0 in US dollars' });
    else sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  const positions = [...sums].map(([vaultKey, amountUsd]) => ({ vaultKey, amountUsd }));
  if (positions.length > MOST_POSITIONS)
    problems.push({ line: 0, text: '', why: `a check takes at most ${MOST_POSITIONS} vaults; these are ${positions.length}` });
  return { positions, problems };
}
