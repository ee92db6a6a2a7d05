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
const CHAIN = /^\d{1,10}$/;
const NUMERIC = /^[$\d][\d.,\s_']*$/;
/** Most positions of a check. */
export const MOST_POSITIONS = 200;

const NO_VAULT = 'no vault: write its id, or the chain and the address as 1:0x…';
const NO_AMOUNT = 'no amount above 0 in US dollars';
const SEVERAL = 'several numbers may be the amount: put it in quotes if it has commas, or name the columns in the first line (vault, amount)';
const LONGER = 'more cells than the first line: put amounts with commas in quotes';
const WHICH_CHAIN = 'the chain cannot be told from the amount: name the columns in the first line (chain, address, amount)';

/** The cells of a line. Quotes hold separators; a quote inside quotes is written twice. */
function cells(line: string, separator: string): string[] {
  const found: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const sign = line.charAt(at);
    if (sign === '"' && quoted && line.charAt(at + 1) === '"') {
      cell += '"';
      at += 1;
    } else if (sign === '"') {
      quoted = !quoted;
    } else if (sign === separator && !quoted) {
      found.push(cell.trim());
      cell = '';
    } else {
      cell += sign;
    }
  }
  return [...found, cell.trim()];
}

/** The separator of a text: the first of tab, semicolon and comma that divides its first line. */
function separatorOf(line: string): string {
  return ['\t', ';', ','].find((sign) => cells(line, sign).length > 1) ?? ',';
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

/** The columns that a first line names; −1 for those that it does not. */
interface Columns {
  amount: number;
  chain: number;
  /** Number of cells; 0 without a first line. */
  count: number;
}

function columnsOf(names: readonly string[]): Columns {
  const named = (...patterns: RegExp[]): number => {
    for (const pattern of patterns) {
      const at = names.findIndex((name) => pattern.test(name));
      if (at >= 0) return at;
    }
    return -1;
  };
  return { amount: named(/usd/i, /amount/i, /value/i), chain: named(/chain/i, /network/i), count: names.length };
}

/** Where a vault stands in a line, or why it stands nowhere. */
type Place = { key: string; used: readonly number[] } | { why: string };

function vaultIn(found: readonly string[], columns: Columns): Place {
  for (const [at, cell] of found.entries()) {
    const key = keyOfVault(cell);
    if (key) return { key, used: [at] };
  }
  const address = found.findIndex((cell) => ADDRESS.test(cell));
  if (address < 0) return { why: NO_VAULT };
  const numbers = found.flatMap((cell, at) => (at !== address && CHAIN.test(cell) ? [at] : []));
  const named = numbers.find((at) => at === columns.chain);
  // Without names, the chain is the only whole number beside an amount, or stands before the address.
  const only = numbers.length === 1 && found.length > 2 ? numbers[0] : undefined;
  const chain = named ?? only ?? numbers.find((at) => at === address - 1);
  if (chain === undefined) return { why: numbers.length > 1 ? WHICH_CHAIN : NO_VAULT };
  const key = keyOfVault(`${found[chain]}:${found[address]}`);
  return key ? { key, used: [address, chain] } : { why: NO_VAULT };
}

/** The amount of a line, or why there is none. */
function amountIn(found: readonly string[], used: readonly number[], columns: Columns): number | string {
  if (columns.count > 0 && found.length > columns.count) return LONGER;
  if (columns.amount >= 0) return amountOf(found[columns.amount] ?? '') ?? NO_AMOUNT;
  // Zeros count too: they may be the end of an amount with commas.
  const numbers = found.filter((cell, at) => !used.includes(at) && NUMERIC.test(cell));
  return numbers.length > 1 ? SEVERAL : (amountOf(numbers[0] ?? '') ?? NO_AMOUNT);
}

/** Reads a text. A first line without a vault and an amount names the columns. Positions in the same vault are added up. */
export function read(text: string): Book {
  const sums = new Map<string, number>();
  const problems: Book['problems'] = [];
  const lines = text.split(/\r\n|\r|\n/);
  const first = lines.findIndex((line) => line.trim() !== '');
  const separator = separatorOf(lines[first] ?? '');
  let columns: Columns = { amount: -1, chain: -1, count: 0 };
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const found = cells(line, separator);
    const place = vaultIn(found, columns);
    if (at === first && 'why' in place && !found.some((cell) => ADDRESS.test(cell) || amountOf(cell) !== null)) {
      columns = columnsOf(found);
      continue;
    }
    const amount = 'why' in place ? place.why : amountIn(found, place.used, columns);
    if ('why' in place || typeof amount === 'string') problems.push({ line: at + 1, text: line, why: String(amount) });
    else sums.set(place.key, (sums.get(place.key) ?? 0) + amount);
  }
  const positions = [...sums].map(([vaultKey, amountUsd]) => ({ vaultKey, amountUsd }));
  if (positions.length > MOST_POSITIONS) {
    problems.push({ line: 0, text: '', why: `a check takes at most ${MOST_POSITIONS} vaults; these are ${positions.length}` });
  }
  return { positions, problems };
}
