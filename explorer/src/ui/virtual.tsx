// A table of many rows: those in view are in the document, and pages of rows are fetched as they come into view. Without JavaScript it is the
// first page and links to the others.

import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { Component, type ComponentChildren, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Api, ApiFailure, type Failure, type Query, type Rows } from '../api.js';
import { browserSend } from '../send.js';
import type { Sorting } from './filters.js';
import { Missing } from './basic.js';
import { Cells, type Column, Heads } from './table.js';

/** Height of a row in pixels; the style sheet gives the rows the same. */
export const ROW = 48;
/** Rows of one request, the most that the API gives. */
const PAGE = 100;
/** Rows beyond the view that are in the document. */
const OVERSCAN = 6;
/** Rows that one frame fills with their cells. Others stay empty until the next frame, so that a page that comes does not stop the scrolling. */
const FILLED = 6;
/** Pages that are kept. */
const KEPT = 60;
/** Seconds after a failed request until the next one, if the service does not say how many. */
const WAIT = 10;
const UNREADABLE: Failure = {
  status: 502,
  code: 'UNEXPECTED_ANSWER',
  message: 'The answer of the service cannot be read.',
  requestId: null,
  retryAfter: null,
};

interface Props<R> {
  caption: string;
  columns: readonly Column<R>[];
  first: R[];
  total: number;
  rowKey: (row: R) => string | number;
  now: string;
  sorting: Sorting;
  api: string;
  query: Query;
  pager: ComponentChildren;
}

/** Pages of rows by number, and those that are being fetched. */
export class Pages<R> {
  readonly #pages = new Map<number, R[]>();
  readonly #asked = new Set<number>();
  #paused = false;

  constructor(
    private readonly first: R[],
    private readonly fetchPage: (page: number) => Promise<R[]>,
    private readonly changed: (failure: Failure | null) => void,
  ) {}

  /** The row at a position, if it is here. */
  row(at: number): R | undefined {
    return this.#pages.get(Math.floor(at / PAGE))?.[at % PAGE] ?? this.first[at];
  }

  /** Allows requests after a failed one. */
  resume(): void {
    this.#paused = false;
  }

  /** Fetches what is missing from the positions, one request at a time. After a failed request it asks for nothing until {@link resume}. */
  async want(from: number, to: number): Promise<void> {
    if (this.#paused || this.#asked.size > 0) return;
    for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page += 1) {
      if (this.#pages.has(page) || (page === 0 && this.first.length > to)) continue;
      this.#asked.add(page);
      try {
        this.#pages.set(page, await this.fetchPage(page));
        for (const old of this.#pages.keys()) {
          if (this.#pages.size <= KEPT) break;
          this.#pages.delete(old);
        }
        this.changed(null);
      } catch (error) {
        this.#paused = true;
        this.changed(error instanceof ApiFailure ? error.failure : UNREADABLE);
        return;
      } finally {
        this.#asked.delete(page);
      }
      return;
    }
  }
}

/** The table. */
export function VirtualTable<R>({ caption, columns, first, total, rowKey, now, sorting, api, query, pager }: Props<R>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [, draw] = useState(0);
  const [failure, setFailure] = useState<Failure | null>(null);
  const made = useRef<{ virtualizer: Virtualizer<HTMLDivElement, Element>; pages: Pages<R> } | null>(null);
  useEffect(() => {
    let mounted = true;
    let retry: ReturnType<typeof setTimeout> | undefined;
    const redraw = (): void => {
      if (mounted) draw((n) => n + 1);
    };
    const pages = new Pages<R>(
      first,
      async (page) => (await new Api(browserSend).get<Rows<R>>(api, { ...query, limit: PAGE, page: page + 1 })).data,
      (failed) => {
        if (!mounted) return;
        setFailure(failed);
        redraw();
        clearTimeout(retry);
        if (!failed) return;
        retry = setTimeout(
          () => {
            pages.resume();
            redraw();
          },
          (failed.retryAfter ?? WAIT) * 1000,
        );
      },
    );
    const virtualizer = new Virtualizer<HTMLDivElement, Element>({
      count: total,
      getScrollElement: () => box.current,
      estimateSize: () => ROW,
      overscan: OVERSCAN,
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: redraw,
    });
    made.current = { virtualizer, pages };
    const clean = virtualizer._didMount();
    virtualizer._willUpdate();
    redraw();
    return () => {
      mounted = false;
      clearTimeout(retry);
      clean();
      made.current = null;
    };
  }, [total, first]);

  const live = made.current;
  const items = live?.virtualizer.getVirtualItems() ?? [];
  const from = items[0]?.index ?? 0;
  const to = items.at(-1)?.index ?? first.length - 1;
  const isScrolling = live?.virtualizer.isScrolling ?? false;
  useEffect(() => {
    if (live && items.length > 0 && !isScrolling) void live.pages.want(from, to);
  });

  const filling = useRef(new Set(first.map((_, at) => at)));
  const later = useRef(0);
  const positions = live && items.length > 0 ? Array.from({ length: to - from + 1 }, (_, at) => from + at) : first.map((_, at) => at);
  const [before, after] = live && items.length > 0 ? [from * ROW, (total - to - 1) * ROW] : [0, 0];
  const { filled, isRest } = fill(positions, filling.current, (at) => (live ? live.pages.row(at) : first[at]) !== undefined);
  useEffect(() => {
    filling.current = filled;
    if (!isRest) return;
    later.current = requestAnimationFrame(() => draw((n) => n + 1));
    return () => cancelAnimationFrame(later.current);
  });
  return (
    <>
      <div ref={box} class="scroll virtual" tabIndex={0} role="region" aria-label={caption}>
        <table aria-rowcount={total + 1}>
          <caption class="hidden">{caption}</caption>
          <thead>
            <Heads columns={columns} sorting={sorting} />
          </thead>
          <tbody>
            {before > 0 && <Space height={before} columns={columns.length} />}
            {positions.map((at) => {
              const row = filled.has(at) ? (live ? live.pages.row(at) : first[at]) : undefined;
              return <Row key={row ? rowKey(row) : `row ${at}`} at={at} columns={columns} row={row} now={now} />;
            })}
            {after > 0 && <Space height={after} columns={columns.length} />}
          </tbody>
        </table>
      </div>
      <div role="status">{failure && <Missing failure={failure} what="more rows" />}</div>
      {!live && pager}
    </>
  );
}

/**
 * The positions whose rows are drawn with their cells: those that were, and up to {@link FILLED} more of those that are here. Whether others wait
 * for the next frame.
 */
export function fill(positions: readonly number[], before: ReadonlySet<number>, isHere: (at: number) => boolean): { filled: Set<number>; isRest: boolean } {
  const here = positions.filter(isHere);
  const filled = new Set(here.filter((at) => before.has(at)));
  const waiting = here.filter((at) => !before.has(at));
  waiting.slice(0, FILLED).forEach((at) => filled.add(at));
  return { filled, isRest: waiting.length > FILLED };
}

interface RowProps<R> {
  at: number;
  columns: readonly Column<R>[];
  row: R | undefined;
  now: string;
}

/** A row. It is drawn again only if something of it has changed, because a table is drawn for each frame of scrolling. */
class Row<R> extends Component<RowProps<R>> {
  override shouldComponentUpdate({ at, columns, row, now }: RowProps<R>): boolean {
    return at !== this.props.at || columns !== this.props.columns || row !== this.props.row || now !== this.props.now;
  }

  override render({ at, columns, row, now }: RowProps<R>): JSX.Element {
    return (
      <tr aria-rowindex={at + 2}>
        {row ? (
          <Cells columns={columns} row={row} now={now} />
        ) : (
          <td colSpan={columns.length} class="quiet">
            Row {at + 1}
          </td>
        )}
      </tr>
    );
  }
}

/** Room for the rows that are not in the document. */
function Space({ height, columns }: { height: number; columns: number }): JSX.Element {
  return (
    <tr aria-hidden="true" class="space">
      <td colSpan={columns} height={height} />
    </tr>
  );
}
