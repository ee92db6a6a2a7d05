// The workbench of a book: reads positions in the browser, sends a check when told to, and checks again while limits move.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Api, ApiFailure, type Failure } from '../api.js';
import { counted, duration } from '../format.js';
import { browserSend } from '../send.js';
import type { CheckResult, GraphCheckBody } from '../types.js';
import { Usd } from '../ui/basic.js';
import { read } from './csv.js';
import { Limits, type LimitName } from './limits.js';
import { Result } from './result.js';

/** Pause after the last move of a limit before the check is sent again, in milliseconds. */
const PAUSE = 300;
/** Largest file that is read, in bytes. */
const MOST_BYTES = 1_000_000;

type Limited = Partial<Record<LimitName, number>>;

/** The form, and what the service answered. */
export function Workbench(): JSX.Element {
  const [text, setText] = useState('');
  const [limits, setLimits] = useState<Limited>({ maxSharePerAsset: 0.5, maxSharePerBridge: 0.3, maxSharePerProtocol: 0.6 });
  const [result, setResult] = useState<CheckResult | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [busy, setBusy] = useState(false);
  const [ready, setReady] = useState(false);
  const [unread, setUnread] = useState('');
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const newest = useRef(0);
  useEffect(() => {
    setReady(true);
    return () => clearTimeout(timer.current);
  }, []);
  const book = useMemo(() => read(text), [text]);
  const total = book.positions.reduce((sum, { amountUsd }) => sum + amountUsd, 0);

  const check = async (issue: boolean, with_: Limited): Promise<void> => {
    newest.current += 1;
    const mine = newest.current;
    setBusy(true);
    try {
      const body: GraphCheckBody = { portfolioRef: 'explorer', positions: book.positions, limits: with_, issue };
      const { data } = await new Api(browserSend).post<{ data: CheckResult }>('/v1/graph/check', body);
      if (mine !== newest.current) return;
      setResult(data);
      setFailure(null);
    } catch (error) {
      if (mine !== newest.current) return;
      if (!(error instanceof ApiFailure)) throw error;
      setFailure(error.failure);
    } finally {
      if (mine === newest.current) setBusy(false);
    }
  };
  /** A limit has moved: a book that was sent is checked again. */
  const moved = (next: Limited): void => {
    setLimits(next);
    if ((!result && !busy) || book.positions.length === 0) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void check(false, next), PAUSE);
  };
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    if (file.size > MOST_BYTES) {
      setUnread(`The file is larger than ${MOST_BYTES / 1_000_000} MB and was not read.`);
      return;
    }
    setUnread('');
    try {
      change(await file.text());
    } catch {
      setUnread('The file cannot be read.');
    }
  };
  /** The book is another one: what was answered is not about it. */
  const change = (next: string): void => {
    newest.current += 1;
    clearTimeout(timer.current);
    setText(next);
    setResult(null);
    setFailure(null);
    setBusy(false);
  };
  const isReady = ready && book.positions.length > 0 && book.problems.length === 0 && !busy;
  return (
    <form
      class="book"
      onSubmit={(event) => {
        event.preventDefault();
        void check(false, limits);
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer?.files[0]);
      }}
    >
      <label for="positions">Positions, as CSV: paste them, or drop a file here</label>
      <textarea
        id="positions"
        rows={8}
        spellcheck={false}
        value={text}
        onInput={(event) => change(event.currentTarget.value)}
        aria-describedby="book-state"
        disabled={!ready}
      />
      <div class="row">
        <label for="file">Or choose a file</label>
        <input
          id="file"
          type="file"
          accept=".csv,text/csv,text/plain"
          disabled={!ready}
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </div>
      <div id="book-state" role="status">
        {unread && <p class="banner warn">{unread}</p>}
        {text !== '' && (
          <p>
            {counted(book.positions.length, 'vault')}, <Usd amount={total} /> together.
          </p>
        )}
        {book.problems.length > 0 && (
          <ul class="problems">
            {book.problems.slice(0, 10).map(({ line, why, text: written }) => (
              <li key={line}>
                {line > 0 && `Line ${line}: `}
                {why}
                {written && (
                  <>
                    {' '}
                    (<bdi>{written.slice(0, 80)}</bdi>)
                  </>
                )}
              </li>
            ))}
            {book.problems.length > 10 && <li>and {book.problems.length - 10} more</li>}
          </ul>
        )}
      </div>
      <Limits limits={limits} change={moved} disabled={!ready} />
      <div class="row">
        <button type="submit" disabled={!isReady}>
          Check
        </button>
        <button type="button" disabled={!isReady || !result} onClick={() => void check(true, limits)}>
          Issue a signed decision
        </button>
        <span role="status">{busy ? 'Checking …' : ''}</span>
      </div>
      {failure && (
        <p class="banner bad" role="alert">
          {failure.status === 401 || failure.status === 403 ? 'A key of the Decisioning plan is needed. Add it with “Key” above.' : failure.message}
          {failure.retryAfter !== null && ` Try again in ${duration(failure.retryAfter)}.`}
          {result && ' The verdict below is the one of the check before.'}
        </p>
      )}
      {result && <Result result={result} />}
    </form>
  );
}
