// The form of a list's filters, its sorting, and its pages: the address holds every state.

import type { JSX } from 'preact';
import { words } from '../format.js';
import type { PageMeta } from '../api.js';
import type { Place } from '../page.js';

/** A filter of a list. */
export interface Filter {
  name: string;
  kind: 'choices' | 'choice' | 'number' | 'text' | 'search';
  options?: string[];
  min?: number | null;
  max?: number | null;
  about: string;
}

/** The parameters of a list, from the OpenAPI document. */
export interface ListParameters {
  filters: Filter[];
  sorts: string[];
  firstSort: string | null;
  /** Whether an answer without a limit has all rows. */
  isWhole: boolean;
}

/** How a list is sorted. */
export interface Sorting {
  sorts: readonly string[];
  by: string | null;
  order: 'asc' | 'desc';
  place: Place;
}

/** The sorting that an address asks for. */
export function sortingOf(place: Place, { sorts, firstSort }: ListParameters): Sorting {
  const query = new URLSearchParams(place.search);
  const order = query.get('sortOrder')?.toLowerCase() === 'asc' ? 'asc' : 'desc';
  return { sorts, by: query.get('sortBy') ?? firstSort, order, place };
}

function changed(place: Place, change: Record<string, string | null>): string {
  const query = new URLSearchParams(place.search);
  query.delete('page');
  for (const [name, value] of Object.entries(change)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return text ? `${place.path}?${text}` : place.path;
}

/** The address of another page of the same list. */
export function pageOf(place: Place, page: number): string {
  return changed(place, { page: page === 1 ? null : String(page) });
}

/** The address of the same list sorted by a field; the other direction if it is sorted by it. */
export function sortedBy({ by, order, place }: Sorting, field: string): string {
  const turned = by === field ? (order === 'desc' ? 'asc' : 'desc') : field === 'name' ? 'asc' : 'desc';
  return changed(place, { sortBy: field, sortOrder: turned });
}

/** The filters that an address sets. */
export function filtersOf(place: Place, { filters }: ListParameters): Record<string, string> {
  const query = new URLSearchParams(place.search);
  const set: Record<string, string> = {};
  for (const { name } of filters) {
    const values = query.getAll(name).filter((value) => value !== '');
    if (values.length > 0) set[name] = values.join(',');
  }
  return set;
}

const LABELS: Record<string, string> = {
  riskTier: 'Tier',
  risk_tier: 'Tier',
  minRiskScore: 'Score from',
  maxRiskScore: 'Score to',
  minTvl: 'TVL from, USD',
  lsd: 'Staking derivative',
  noIL: 'No impermanent loss',
  kyc_gate: 'KYC requirement',
  protocolId: 'Protocol',
  curatorId: 'Curator',
  chainId: 'Chain',
  daysBack: 'Days back',
  minLossUsd: 'Loss from, USD',
  affectsTrackedUniverse: 'Affects what is tracked',
};
const ANSWERS: Record<string, string> = { true: 'yes', false: 'no' };

/** The form: a search field, and the other filters behind a summary that says how many are set. */
export function Filters({ place, list, kept = [] }: { place: Place; list: ListParameters; kept?: readonly string[] }): JSX.Element {
  const set = filtersOf(place, list);
  const query = new URLSearchParams(place.search);
  const search = list.filters.find(({ kind }) => kind === 'search');
  const others = list.filters.filter(({ kind }) => kind !== 'search');
  const active = others.filter(({ name }) => name in set);
  return (
    <form class="filters" action={place.path} key={place.search}>
      {['sortBy', 'sortOrder', ...kept].map(
        (name) => query.get(name) && <input key={name} type="hidden" name={name} value={query.get(name) ?? ''} />,
      )}
      <div class="row">
        {search && (
          <div class="field grow">
            <label for={`filter-${search.name}`}>Search in this list</label>
            <input id={`filter-${search.name}`} type="search" name={search.name} defaultValue={set[search.name] ?? ''} maxLength={200} />
          </div>
        )}
        <button type="submit">Apply</button>
        {Object.keys(set).length > 0 && (
          <a class="button quiet" href={place.path}>
            Clear
          </a>
        )}
      </div>
      {others.length > 0 && (
        <details open={active.length > 0}>
          <summary>Filters{active.length > 0 ? `: ${active.map(({ name }) => LABELS[name] ?? words(name)).join(', ')}` : ''}</summary>
          <div class="fields">
            {others.map((filter) => (
              <Field key={filter.name} filter={filter} value={set[filter.name] ?? ''} />
            ))}
          </div>
        </details>
      )}
    </form>
  );
}

function Field({ filter, value }: { filter: Filter; value: string }): JSX.Element {
  const { name, kind, options = [], about } = filter;
  const id = `filter-${name}`;
  const label = LABELS[name] ?? words(name);
  if (kind === 'choices') {
    const chosen = new Set(value.toLowerCase().split(',').filter(Boolean));
    const known = new Set(options.map((option) => option.toLowerCase()));
    const all = [...options, ...[...chosen].filter((option) => !known.has(option))];
    return (
      <fieldset class="field" title={about}>
        <legend>{label}</legend>
        {all.map((option) => (
          <label key={option} class="check">
            <input type="checkbox" name={name} value={option} defaultChecked={chosen.has(option.toLowerCase())} /> {words(option)}
          </label>
        ))}
      </fieldset>
    );
  }
  return (
    <div class="field" title={about}>
      <label for={id}>{label}</label>
      {kind === 'choice' ? (
        <select id={id} name={name}>
          <option value="">any</option>
          {value !== '' && !options.some((option) => option.toLowerCase() === value.toLowerCase()) && (
            <option value={value} selected>
              {value}
            </option>
          )}
          {options.map((option) => (
            <option key={option} value={option} selected={option.toLowerCase() === value.toLowerCase()}>
              {ANSWERS[option] ?? words(option)}
            </option>
          ))}
        </select>
      ) : kind === 'number' ? (
        <input
          id={id}
          name={name}
          type="number"
          step="any"
          min={filter.min ?? undefined}
          max={filter.max ?? undefined}
          defaultValue={value}
          inputMode="decimal"
        />
      ) : (
        <input id={id} name={name} type="text" defaultValue={value} maxLength={200} />
      )}
    </div>
  );
}

/** Links to the pages of a list. */
export function Pager({ place, meta }: { place: Place; meta: PageMeta }): JSX.Element | null {
  const page = meta.page ?? 1;
  const hasNext = meta.hasMore ?? (meta.totalPages !== undefined && page < meta.totalPages);
  if (page <= 1 && !hasNext) return null;
  return (
    <nav class="pager" aria-label="Pages of this list">
      {page > 1 && (
        <a rel="prev" href={pageOf(place, page - 1)}>
          ← Previous
        </a>
      )}
      <span>
        Page {page}
        {meta.totalPages !== undefined && ` of ${meta.totalPages}`}
      </span>
      {hasNext && (
        <a rel="next" href={pageOf(place, page + 1)}>
          Next →
        </a>
      )}
    </nav>
  );
}
