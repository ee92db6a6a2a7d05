// The live stream in the browser: new events as they are published, lost connections, and gaps.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { keyOf } from '../key.js';
import { eventPath } from '../links.js';
import { instant } from '../format.js';
import { SeverityMark, To } from './basic.js';

/** Most events that are shown. */
const SHOWN = 30;

interface Line {
  key: string;
  at: string;
  severity: string | null;
  title: string;
  href: string | null;
}

type State = 'off' | 'connecting' | 'live' | 'refused';

/** A button that follows the stream, and what it has brought. */
export function Live(): JSX.Element | null {
  const [state, setState] = useState<State>('off');
  const [why, setWhy] = useState('');
  const [lines, setLines] = useState<Line[]>([]);
  const [ready, setReady] = useState(false);
  const [wanted, setWanted] = useState(false);
  useEffect(() => setReady(true), []);
  useEffect(() => {
    if (!wanted) return undefined;
    const stop = new AbortController();
    const add = (line: Line): void => setLines((known) => [line, ...known.filter(({ key }) => key !== line.key)].slice(0, SHOWN));
    setState('connecting');
    void (async () => {
      try {
        const { Client } = await import('../../../clients/typescript/src/index.js');
        const key = keyOf();
        const client = new Client({ baseUrl: location.origin, ...(key ? { apiKey: key } : {}) });
        for await (const frame of client.events.stream({}, { signal: stop.signal })) {
          setState(frame.kind === 'draining' ? 'connecting' : 'live');
          if (frame.kind === 'gap') {
            const at = new Date().toISOString();
            add({
              key: `gap ${at}`,
              at,
              severity: 'Warning',
              title: `Some events are missing from the stream (${String(frame.data.reason)}). Load the page again to see all.`,
              href: null,
            });
          } else if (frame.kind === 'published' || frame.kind === 'promoted') {
            const {
              id,
              occurred_at: at,
              severity,
              title,
            } = frame.data as unknown as { id: string; occurred_at: string; severity: string; title: string };
            add({ key: String(id), at, severity, title, href: eventPath(id) });
          } else if (frame.kind === 'retracted') {
            const { id } = frame.data as unknown as { id: string };
            add({ key: `retracted ${id}`, at: new Date().toISOString(), severity: 'Info', title: `Event ${id} was retracted`, href: eventPath(id) });
          }
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setWhy(error instanceof Error ? error.message : String(error));
        setState('refused');
        setWanted(false);
      }
    })();
    return () => {
      stop.abort();
      setState((now) => (now === 'refused' ? now : 'off'));
    };
  }, [wanted]);
  if (!ready) return null;
  const text = {
    off: 'Not followed.',
    connecting: 'Connecting …',
    live: 'Live: new events appear here.',
    refused: `The stream is not available: ${why}`,
  }[state];
  return (
    <section class="live" aria-labelledby="live">
      <h2 id="live">Live</h2>
      <p>
        <button type="button" onClick={() => setWanted(!wanted)}>
          {wanted ? 'Stop' : 'Follow the stream'}
        </button>{' '}
        <span role="status">{text}</span>
      </p>
      <ul aria-live="polite">
        {lines.map(({ key, at, severity, title, href }) => (
          <li key={key}>
            <time dateTime={at}>{instant(at)}</time> <SeverityMark severity={severity} /> <To href={href}>{title}</To>
          </li>
        ))}
      </ul>
    </section>
  );
}
