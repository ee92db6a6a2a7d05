// A page in its frame: what the edge renders and the browser hydrates.

import type { JSX } from 'preact';
import type { Failure } from './api.js';
import { Frame } from './frame.js';
import type { Page, Place, State } from './page.js';
import { duration } from './format.js';

/** The page with its frame, from its state. */
export function App({ page, place, state }: { page: Page<unknown>; place: Place; state: State }): JSX.Element {
  const { View } = page;
  return (
    <Frame place={place} asked={state.asked ?? []}>
      {state.stale !== null && (
        <p class="banner warn" role="status">
          The service cannot be reached at the moment. These facts are{' '}
          {state.stale > 0 ? `${duration(state.stale)} old` : 'the last ones that were kept'}.
        </p>
      )}
      {state.failure ? (
        <Failed key={place.path} failure={state.failure} keyed={state.keyed === true} place={place} />
      ) : (
        <View key={place.path} data={state.data} place={place} now={state.now} />
      )}
    </Frame>
  );
}

const TITLES: Record<number, string> = {
  0: 'The service cannot be reached',
  400: 'This address is not valid',
  401: 'A key is needed',
  403: 'Not allowed with this key',
  404: 'Not found',
  429: 'Too many requests',
  502: 'The answer cannot be read',
  503: 'Not available now',
  504: 'The service did not answer in time',
};

/** A page without its facts: what happened, and what to do. */
function Failed({ failure, keyed, place }: { failure: Failure; keyed: boolean; place: Place }): JSX.Element {
  const { status, message, requestId, retryAfter } = failure;
  const isRefused = status === 401 && keyed;
  return (
    <section class="failed">
      <h1 tabIndex={-1}>{isRefused ? 'The key is not accepted' : (TITLES[status] ?? 'Something went wrong')}</h1>
      <p class="lead">{message}</p>
      {status === 401 && (
        <p>{keyed ? 'The key may be revoked or mistyped: replace or remove it with “Key” above.' : 'Add a key with “Key” above.'}</p>
      )}
      {status === 429 && !keyed && (
        <p>Requests without a key share a small limit per address. A key has a limit of its own: add it with “Key” above.</p>
      )}
      {retryAfter !== null && <p>The next try may succeed in {duration(retryAfter)}.</p>}
      {status === 400 && (
        <p>
          <a href={place.path}>Open this page without filters</a>
        </p>
      )}
      {status === 404 && <p>Nothing is known under this address. Names can be looked up with the search above.</p>}
      {status !== 404 && status !== 400 && (
        <p>
          <a href={place.search ? `${place.path}?${place.search}` : place.path}>Try again</a>
        </p>
      )}
      {requestId && (
        <p class="quiet">
          Request id: <code>{requestId}</code>
        </p>
      )}
    </section>
  );
}
