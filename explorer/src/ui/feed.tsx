// The state of a price feed: mark and word.

import type { JSX } from 'preact';
import { words } from '../format.js';

const MARKS: Record<string, string> = { fresh: '●', stale: '▲', unknown: '?' };

/** Whether a feed was updated within its heartbeat. */
export function FeedState({ status }: { status: string }): JSX.Element {
  return (
    <span class={`feed ${status === 'stale' ? 'bad' : status === 'fresh' ? 'good' : ''}`}>
      <span aria-hidden="true">{MARKS[status] ?? '?'}</span> {words(status)}
    </span>
  );
}
