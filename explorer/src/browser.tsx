// The explorer in the browser: hydrates the page that the edge rendered, and follows links without loading documents.

import { hydrate, render } from 'preact';
import { Api, ApiFailure, UNREACHABLE } from './api.js';
import { App } from './app.js';
import { keyOf } from './key.js';
import { find, type Page, type Place, type State } from './page.js';
import { PAGES } from './pages/index.js';
import { browserSend } from './send.js';

const root = document.getElementById('app');

interface Found {
  page: Page<unknown>;
  place: Place;
}

/** The page at an address of this origin; null if another program answers there. */
async function pageAt(url: URL): Promise<Found | null> {
  if (url.origin !== location.origin) return null;
  const path = url.pathname === '/' ? '/vaults' : url.pathname;
  const found = find(PAGES, path);
  if (!found) return null;
  const { default: page } = await found.entry.module();
  return { page, place: { path, params: found.params, search: url.search.slice(1) } };
}

async function load({ page, place }: Found): Promise<State> {
  const api = new Api(browserSend);
  const now = new Date().toISOString();
  try {
    const data = await page.load({ api, place, query: new URLSearchParams(place.search) });
    return { data, now, stale: api.stale, asked: [...api.asked] };
  } catch (error) {
    if (error instanceof ApiFailure) return { failure: error.failure, keyed: keyOf() !== null, now, stale: null, asked: [...api.asked] };
    throw error;
  }
}

/** Number of the newest navigation: an older one that is still loading is dropped. */
let newest = 0;
/** The address that is shown, without its fragment. */
let shown = location.pathname + location.search;

/** Shows the page at an address. Leaves the document if the page is not one of ours. */
async function go(url: URL, how: 'push' | 'replace' | 'back'): Promise<void> {
  newest += 1;
  const mine = newest;
  document.documentElement.classList.add('loading');
  try {
    const found = await pageAt(url);
    if (!found || !root) {
      location.href = url.href;
      return;
    }
    const state = await load(found);
    if (mine !== newest) return;
    // What the edge has rendered stays if the same request with the key fails for another reason than the key.
    if (how === 'replace' && state.failure && ![401, 403].includes(state.failure.status)) return;
    shown = url.pathname + url.search;
    if (how === 'push') {
      history.replaceState({ top: scrollY }, '');
      history.pushState(null, '', url);
    } else if (how === 'replace') {
      history.replaceState(null, '', url);
    }
    show(found, state);
    const top = how === 'back' ? Number((history.state as { top?: number } | null)?.top ?? 0) : 0;
    if (how !== 'replace') {
      scrollTo({ top, behavior: 'instant' });
      document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
    }
  } catch (error) {
    if (mine === newest && how !== 'replace' && !navigator.onLine) {
      showUnreachable(url, how);
      return;
    }
    // The edge may still make the page. A page that is shown already stays: to load its document again would end here again.
    if (mine === newest && how !== 'replace') location.href = url.href;
    else console.error(error);
  } finally {
    if (mine === newest) document.documentElement.classList.remove('loading');
  }
}

/** Shows, in place of a page whose code is not here, that there is no connection. */
function showUnreachable(url: URL, how: 'push' | 'back'): void {
  shown = url.pathname + url.search;
  if (how === 'push') history.pushState(null, '', url);
  const place: Place = { path: url.pathname, params: {}, search: url.search.slice(1) };
  show({ page: NO_PAGE, place }, { failure: UNREACHABLE, now: new Date().toISOString(), stale: null });
  document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
}

/** Stands for a page of which only the failure is shown. */
const NO_PAGE: Page<unknown> = { load: () => Promise.resolve(null), head: () => ({ title: '', about: '' }), View: () => null };

function show({ page, place }: Found, state: State): void {
  if (!root) return;
  const title = state.failure ? 'Not available' : page.head(state.data, place).title;
  document.title = `${title} · Risk Data Service`;
  render(<App page={page} place={place} state={state} />, root);
}

/** A plain click on a link of ours. */
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a');
  // The attribute, because links inside pictures have no text as their `href`.
  const href = link?.getAttribute('href');
  if (!link || !href || link.hasAttribute('target') || link.hasAttribute('download')) return;
  const url = new URL(href, location.href);
  const path = url.pathname === '/' ? '/vaults' : url.pathname;
  if (url.origin !== location.origin || !find(PAGES, path)) return;
  if (url.hash && url.pathname === location.pathname && url.search === location.search) return;
  event.preventDefault();
  void go(url, 'push');
});

/** A form that leads to a page of ours. */
document.addEventListener('submit', (event) => {
  const form = event.target as HTMLFormElement;
  if (event.defaultPrevented || form.method !== 'get') return;
  const url = new URL(form.getAttribute('action') ?? '', location.href);
  if (url.origin !== location.origin || !find(PAGES, url.pathname)) return;
  event.preventDefault();
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value !== 'string' || value === '') continue;
    query.set(name, query.has(name) ? `${query.get(name)},${value}` : value);
  }
  url.search = query.toString();
  void go(url, 'push');
});

// A fragment of the page that is shown, such as that of “Skip to main content”, loads nothing.
addEventListener('popstate', () => {
  if (location.pathname + location.search !== shown) {
    void go(new URL(location.href), 'back');
    return;
  }
  newest += 1;
  document.documentElement.classList.remove('loading');
});
if ('scrollRestoration' in history) history.scrollRestoration = 'manual';

async function start(): Promise<void> {
  const found = await pageAt(new URL(location.href));
  const written = document.getElementById('state')?.textContent;
  if (!found || !root || !written) return;
  const state = JSON.parse(written) as State;
  hydrate(<App page={found.page} place={found.place} state={state} />, root);
  document.documentElement.classList.add('ready');
  // The edge rendered the page without the key.
  if (keyOf()) await go(new URL(location.href), 'replace');
}

// Without this file's work, the page of the edge stays as it is, with all its facts.
start().catch((error: unknown) => console.error(error));
