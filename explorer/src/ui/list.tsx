// Pages that show a list: filters, sorts, rows and pages of one path of the API.

import type { ComponentChildren, JSX } from 'preact';
import lists from 'rds:lists';
import type { Context, Page, Place } from '../page.js';
import { definePage } from '../page.js';
import type { Rows } from '../api.js';
import { counted } from '../format.js';
import { Empty } from './basic.js';
import { Filters, filtersOf, type ListParameters, pageOf, Pager, sortingOf } from './filters.js';
import { type Column, Table } from './table.js';
import { VirtualTable } from './virtual.js';

/** Rows that a page asks for, unless an answer without a limit has all rows. */
export const LIMIT = 50;

/** A list's page. */
export interface ListOf<R, E> {
  /** Path of the API. */
  api: string;
  title: string;
  about: string;
  /** What the rows are called: `vaults`. */
  noun: string;
  columns: readonly Column<R>[];
  rowKey: (row: R) => string | number;
  /** What else the page asks for. */
  more?: (context: Context) => Promise<E>;
  /** What stands above the list. */
  above?: (data: ListData<R, E>, place: Place, now: string) => ComponentChildren;
  /** Query of the API that does not come from the address. */
  fixed?: Record<string, string>;
}

/** What a list's page has loaded. */
export interface ListData<R, E> {
  rows: R[];
  meta: NonNullable<Rows<R>['meta']>;
  more: E | undefined;
}

/** `index` of `indices`, `vault` of `vaults`. */
const oneOf = (noun: string): string => (noun === 'indices' ? 'index' : noun.slice(0, -1));

/** The parameters of a list. */
export function parametersOf(api: string): ListParameters {
  return lists[api] ?? { filters: [], sorts: [], firstSort: null, isWhole: false };
}

/** The query that an address makes for the API. */
export function queryOf(place: Place, api: string): Record<string, string> {
  const query = new URLSearchParams(place.search);
  const sent = filtersOf(place, parametersOf(api));
  for (const name of ['sortBy', 'sortOrder', 'page']) {
    const value = query.get(name);
    if (value) sent[name] = value;
  }
  return sent;
}

/** Makes the page of a list. */
export function listPage<R, E = undefined>(list: ListOf<R, E>): Page<unknown> {
  return definePage<ListData<R, E>>({
    async load(context) {
      const limit = parametersOf(list.api).isWhole ? null : LIMIT;
      const query = { ...queryOf(context.place, list.api), ...list.fixed, limit };
      const [rows, more] = await Promise.all([context.api.get<Rows<R>>(list.api, query), list.more?.(context)]);
      return { rows: rows.data, meta: rows.meta ?? {}, more };
    },
    head: () => ({ title: list.title, about: list.about }),
    View: ({ data, place, now }) => <List list={list} data={data} place={place} now={now} />,
  });
}

function List<R, E>({ list, data, place, now }: { list: ListOf<R, E>; data: ListData<R, E>; place: Place; now: string }): JSX.Element {
  const parameters = parametersOf(list.api);
  const { rows, meta } = data;
  const { columns, rowKey, title, about, noun } = list;
  const filtered = Object.keys(filtersOf(place, parameters)).length > 0;
  const total = meta.total ?? (parameters.isWhole ? rows.length : undefined);
  const isBeyond = rows.length === 0 && Number(new URLSearchParams(place.search).get('page') ?? 1) > 1;
  const isScrolled = meta.total !== undefined && meta.total > rows.length && (meta.page ?? 1) === 1;
  return (
    <>
      <h1 tabIndex={-1}>{title}</h1>
      <p class="lead">{about}</p>
      {list.above?.(data, place, now)}
      {parameters.filters.length > 0 && <Filters place={place} list={parameters} />}
      <p class="count" role="status">
        {total !== undefined
          ? `${counted(total, oneOf(noun), noun)}${filtered ? (total === 1 ? ' matches' : ' match') : ''}`
          : rows.length > 0
            ? `${noun.charAt(0).toUpperCase()}${noun.slice(1)}, newest first unless sorted otherwise`
            : ''}
      </p>
      {isBeyond ? (
        <Empty>
          The list ends before this page. <a href={pageOf(place, 1)}>First page</a>
        </Empty>
      ) : rows.length === 0 ? (
        <Empty>{filtered ? `No ${noun} match these filters.` : `There are no ${noun} yet.`}</Empty>
      ) : isScrolled ? (
        <VirtualTable
          key={place.search}
          caption={title}
          columns={columns}
          first={rows}
          total={meta.total ?? rows.length}
          rowKey={rowKey}
          now={now}
          sorting={sortingOf(place, parameters)}
          api={list.api}
          query={{ ...queryOf(place, list.api), ...list.fixed }}
          pager={<Pager place={place} meta={meta} />}
        />
      ) : (
        <>
          <Table caption={title} columns={columns} rows={rows} rowKey={rowKey} now={now} sorting={sortingOf(place, parameters)} />
          <Pager place={place} meta={meta} />
        </>
      )}
    </>
  );
}
