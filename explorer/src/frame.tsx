// The frame of every page: brand, menu, search, key and theme.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { referenceOf } from './links.js';
import type { Place } from './page.js';
import { keyOf, setKey } from './key.js';

/** The menu: address and label. */
export const MENU: readonly (readonly [string, string])[] = [
  ['/vaults', 'Vaults'],
  ['/assets', 'Assets'],
  ['/markets', 'Markets'],
  ['/oracles', 'Price feeds'],
  ['/curators', 'Curators'],
  ['/protocols', 'Protocols'],
  ['/chains', 'Chains'],
  ['/events', 'Events'],
  ['/losses', 'Losses'],
  ['/security', 'Security'],
  ['/signals', 'Signals'],
  ['/book', 'Book'],
  ['/baskets', 'Baskets'],
  ['/indices', 'Indices'],
  ['/status', 'Status'],
  ['/v1/docs', 'Docs'],
];

/** A page in its frame. */
export function Frame({ place, asked, children }: { place: Place; asked: string[]; children: ComponentChildren }): JSX.Element {
  const search = useRef<HTMLInputElement>(null);
  const sought = place.path === '/search' ? (new URLSearchParams(place.search).get('q') ?? '') : '';
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
      const { tagName } = document.activeElement ?? document.body;
      if (['INPUT', 'TEXTAREA', 'SELECT'].includes(tagName)) return;
      event.preventDefault();
      search.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  return (
    <>
      <a class="skip" href="#main">
        Skip to main content
      </a>
      <header class="top">
        <a class="brand" href="/vaults">
          <span class="mark" aria-hidden="true" />
          <span class="word">Risk Data Service</span>
        </a>
        <form class="find" action="/search" role="search">
          <label class="hidden" for="find">
            Search vaults, assets, markets, curators, protocols and events
          </label>
          <input
            key={sought}
            id="find"
            ref={search}
            type="search"
            name="q"
            placeholder="Search  ( / )"
            defaultValue={sought}
            maxLength={200}
            autocomplete="off"
          />
        </form>
        <div class="tools">
          <KeyTool />
          <ThemeTool />
        </div>
      </header>
      <nav class="menu" aria-label="Pages">
        <ul>
          {MENU.map(([path, label]) => {
            const here = place.path === path || place.path.startsWith(`${path}/`);
            return (
              <li key={path}>
                <a href={path} aria-current={here ? (place.path === path ? 'page' : 'true') : undefined}>
                  {label}
                </a>
              </li>
            );
          })}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        {children}
        <footer>
          {asked.length > 0 && <Answers asked={asked} />}
          <p>
            Scores from 0 to 10, tiers Prime, Core and Edge: <a href="/v1/docs/methodology">how they are computed</a>.{' '}
            Everything here comes from the <a href="/v1/docs">public API</a>. Nothing here is advice.
          </p>
        </footer>
      </main>
    </>
  );
}

/** The answers of the API that the page is made of, each with its description. */
function Answers({ asked }: { asked: string[] }): JSX.Element {
  return (
    <details>
      <summary>This page as answers of the API</summary>
      <ul>
        {asked.map((target) => {
          const reference = referenceOf(target);
          return (
            <li key={target}>
              <a href={target}>
                <code>GET {target}</code>
              </a>
              {reference && (
                <>
                  {' '}
                  (<a href={reference.link}>{reference.summary}</a>)
                </>
              )}
            </li>
          );
        })}
      </ul>
    </details>
  );
}

/** Adds, shows or removes the key, which stays in this browser. */
function KeyTool(): JSX.Element | null {
  const [key, change] = useState<string | null>(null);
  const [ready, setReady] = useState(false);
  useEffect(() => {
    change(keyOf());
    setReady(true);
  }, []);
  if (!ready) return null;
  const save = (event: Event): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get('key');
    setKey(typeof given === 'string' ? given.trim() : '');
    location.reload();
  };
  return (
    <details class="key">
      <summary class="tool">{key ? 'Key ✓' : 'Key'}</summary>
      <form class="panel" onSubmit={save}>
        {key ? (
          <p>A key is used for every request of this browser.</p>
        ) : (
          <p>
            A key gives higher limits and the live stream. It stays in this browser and is sent to this service alone.{' '}
            <a href="/v1/docs/keys">Keys</a>
          </p>
        )}
        <label for="key">API key</label>
        <input id="key" name="key" type="text" class="secret" autocomplete="off" spellcheck={false} placeholder={key ? '…' : ''} />
        <div class="row">
          <button type="submit">{key ? 'Replace' : 'Use this key'}</button>
          {key && (
            <button
              type="button"
              onClick={() => {
                setKey('');
                location.reload();
              }}
            >
              Remove the key
            </button>
          )}
        </div>
      </form>
    </details>
  );
}

function ThemeTool(): JSX.Element | null {
  const [dark, setDark] = useState<boolean | null>(null);
  const root = (): HTMLElement => document.documentElement;
  useEffect(() => {
    const chosen = root().dataset['theme'];
    setDark(chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
  }, []);
  if (dark === null) return null;
  const turn = (): void => {
    const theme = dark ? 'light' : 'dark';
    root().dataset['theme'] = theme;
    try {
      localStorage.setItem('theme', theme);
    } catch {
      // Without storage, the choice lasts until the page is left.
    }
    setDark(!dark);
  };
  return (
    <button class="tool" type="button" onClick={turn}>
      {dark ? 'Light' : 'Dark'}
    </button>
  );
}
