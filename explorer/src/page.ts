// What a page is: the requests that it needs, its head, and its view.

import type { ComponentType } from 'preact';
import type { Api, Failure } from './api.js';

/** An address inside the explorer. */
export interface Place {
  /** `/vaults/ID`, as in the address. */
  path: string;
  /** Values of the pattern's `:names`, decoded. */
  params: Record<string, string>;
  /** The query without `?`. */
  search: string;
}

/** What a page loads with. */
export interface Context {
  api: Api;
  place: Place;
  query: URLSearchParams;
}

/** What the head of the document says. */
export interface Head {
  title: string;
  /** One sentence, for search engines and previews. */
  about: string;
}

/** What a view gets. */
export interface ViewProps<D> {
  data: D;
  place: Place;
  /** The instant that ages are counted from, as ISO text: the same at the edge and in the browser. */
  now: string;
}

/** A page. */
export interface Page<D> {
  load(context: Context): Promise<D>;
  head(data: D, place: Place): Head;
  View: ComponentType<ViewProps<D>>;
}

/** Checks the types of a page, and hides them from the table of pages. */
export function definePage<D>(page: Page<D>): Page<unknown> {
  return page as Page<unknown>;
}

/** What a page shows: its data, or why there is none. It is also what the HTML carries for the browser. */
export interface State {
  data?: unknown;
  failure?: Failure;
  /** Whether the answers are those to a key. The edge never has one. */
  keyed?: boolean;
  now: string;
  /** Age in seconds of the oldest answer that was served because the service could not be reached. */
  stale: number | null;
  /** Targets of the answers of the API that the page is made of. */
  asked?: string[];
}

/** An entry of the table of pages. */
export interface Entry {
  /** `/vaults/:id`. */
  path: string;
  /** Name of its module in `pages`. */
  name: string;
  module: () => Promise<{ default: Page<unknown> }>;
}

/** The values of a pattern's `:names` if `path` matches it. */
export function match(pattern: string, path: string): Record<string, string> | null {
  const [names, values] = [pattern.split('/'), path.split('/')];
  if (names.length !== values.length) return null;
  const params: Record<string, string> = {};
  for (const [at, name] of names.entries()) {
    const value = values[at] ?? '';
    if (!name.startsWith(':')) {
      if (name !== value) return null;
      continue;
    }
    try {
      params[name.slice(1)] = decodeURIComponent(value);
    } catch {
      return null;
    }
    if (value === '') return null;
  }
  return params;
}

/** Finds the page at a path. */
export function find(pages: readonly Entry[], path: string): { entry: Entry; params: Record<string, string> } | null {
  for (const entry of pages) {
    const params = match(entry.path, path);
    if (params) return { entry, params };
  }
  return null;
}
