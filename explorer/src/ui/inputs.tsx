// The inputs of a score: each with value, source, date and age, and how to read it again where it was read from a chain.

import type { JSX } from 'preact';
import { words } from '../format.js';
import { Hash, Outside, Unknown, When } from './basic.js';
import { Table } from './table.js';

/** An input as the API gives it. */
interface Given {
  value: unknown;
  source?: string | null;
  observed_at?: string | null;
  source_url?: string | null;
  evidence?: { chain_id: number; block_number: number; block_hash: string; agreed: number; asked: number } | null;
}

/** An input with its place. */
export interface Input extends Given {
  vector: string;
  name: string;
}

function isGiven(node: unknown): node is Given {
  return typeof node === 'object' && node !== null && 'value' in node && ('source' in node || 'observed_at' in node);
}

/** The inputs of all vectors, in the order of the answer. */
export function inputsOf(inputs: object): Input[] {
  const found: Input[] = [];
  for (const [vector, members] of Object.entries(inputs)) {
    for (const [name, node] of Object.entries((members ?? {}) as Record<string, unknown>)) {
      if (isGiven(node)) found.push({ vector, name, ...node });
    }
  }
  return found;
}

/** Any value as text: numbers, words, and small objects member by member. */
export function plain(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return Number.isInteger(value) ? value.toLocaleString('en-US') : String(value);
  if (typeof value === 'string') return /^[a-z_]+$/.test(value) ? words(value) : value;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((one) => plain(one) ?? 'unknown').join(', ');
  return Object.entries(value as object)
    .map(([name, one]) => `${words(name)} ${plain(one) ?? 'unknown'}`)
    .join(', ');
}

/** The table of inputs. */
export function Inputs({ inputs, now, again }: { inputs: readonly Input[]; now: string; again: string }): JSX.Element {
  return (
    <>
      <Table
        caption="Inputs of the score"
        rows={inputs}
        rowKey={({ vector, name }) => `${vector}.${name}`}
        now={now}
        columns={[
          { label: 'Input', header: true, cell: ({ name }) => words(name) },
          { label: 'Vector', cell: ({ vector }) => words(vector) },
          { label: 'Value', cell: ({ value }) => (plain(value) === null ? <Unknown /> : <bdi>{plain(value)}</bdi>) },
          {
            label: 'Source',
            cell: ({ source, source_url: url }) => (url ? <Outside url={url}>{source ?? url}</Outside> : source ? <bdi>{source}</bdi> : <Unknown />),
          },
          { label: 'Observed', cell: ({ observed_at: at }, clock) => <When at={at} now={clock} /> },
          {
            label: 'Read from',
            cell: ({ evidence }) =>
              evidence ? (
                <>
                  block {evidence.block_number} <Hash text={evidence.block_hash} />, {evidence.agreed} of {evidence.asked} operators agree.{' '}
                  <a href={again}>Read it again</a>
                </>
              ) : (
                <span class="quiet">not a chain</span>
              ),
          },
        ]}
      />
    </>
  );
}
