// Tables: they scroll in their own box, and their headers sort by link.

import type { ComponentChildren, JSX } from 'preact';
import { sortedBy, type Sorting } from './filters.js';

/** A column. */
export interface Column<R> {
  label: string;
  /** Name of the sort field, if the list can be sorted by this column. */
  sort?: string;
  /** Whether the cells are numbers, which are aligned to the right. */
  number?: boolean;
  /** Whether the cell is the header of its row. */
  header?: boolean;
  cell: (row: R, now: string) => ComponentChildren;
}

/** The header of a sortable column. */
export function Heads<R>({ columns, sorting }: { columns: readonly Column<R>[]; sorting?: Sorting | undefined }): JSX.Element {
  return (
    <tr>
      {columns.map(({ label, sort, number }) => {
        const order = sorting && sort && sorting.by === sort ? (sorting.order === 'asc' ? 'ascending' : 'descending') : undefined;
        return (
          <th key={label} scope="col" class={number ? 'number' : undefined} aria-sort={order}>
            {sorting && sort && sorting.sorts.includes(sort) ? (
              <a href={sortedBy(sorting, sort)}>
                {label}
                <span aria-hidden="true">{order === 'ascending' ? ' ▲' : order === 'descending' ? ' ▼' : ''}</span>
              </a>
            ) : (
              label
            )}
          </th>
        );
      })}
    </tr>
  );
}

/** The cells of a row. */
export function Cells<R>({ columns, row, now }: { columns: readonly Column<R>[]; row: R; now: string }): JSX.Element {
  return (
    <>
      {columns.map(({ label, number, header, cell }) =>
        header ? (
          <th key={label} scope="row">
            {cell(row, now)}
          </th>
        ) : (
          <td key={label} class={number ? 'number' : undefined}>
            {cell(row, now)}
          </td>
        ),
      )}
    </>
  );
}

interface Props<R> {
  caption: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  rowKey: (row: R, at: number) => string | number;
  now: string;
  sorting?: Sorting | undefined;
}

/** A table of all its rows. */
export function Table<R>({ caption, columns, rows, rowKey, now, sorting }: Props<R>): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <Heads columns={columns} sorting={sorting} />
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={rowKey(row, at)}>
              <Cells columns={columns} row={row} now={now} />
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
