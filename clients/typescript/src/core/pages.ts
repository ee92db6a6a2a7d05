// Lists: the first page when awaited, every row when iterated.
import { at } from './operation.js';
import type { Operation, Paging } from './operation.js';

/** Reads one page. */
type Read<Answer> = (query: Record<string, unknown>) => Promise<Answer>;

/**
 * A list of the API. Await it for its first page; iterate over it for every row, page by page.
 *
 * Rows are handed over as the service sends them. If rows move between pages while you read, one may come twice or not at all: sort by a
 * field that does not change, such as `name`, or use `client.vaults.changes`, which leaves none out.
 *
 * @example
 * const list = client.vaults.list({ sortBy: 'name', sortOrder: 'asc' });
 * for await (const vault of list) console.log(vault.name, vault.total_score);
 * const firstPage = await client.vaults.list({ limit: 5 });
 * console.log(firstPage.meta.total);
 */
export class Pages<Row, Answer> implements PromiseLike<Answer>, AsyncIterable<Row> {
  readonly #paging: Paging;
  readonly #query: Record<string, unknown>;
  readonly #read: Read<Answer>;
  #first: Promise<Answer> | undefined;

  /** Made by the client. */
  constructor(operation: Operation, query: object, read: Read<Answer>) {
    if (operation.paging === undefined) throw new TypeError(`${operation.id} has no pages`);
    this.#paging = operation.paging;
    this.#query = { ...query };
    this.#read = read;
  }

  /** The first page. */
  then<Value = Answer, Failure = never>(
    done?: ((answer: Answer) => Value | PromiseLike<Value>) | null,
    failed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Value | Failure> {
    this.#first ??= this.#read(this.#query);
    return this.#first.then(done, failed);
  }

  /** Every row, from the given page on. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, undefined> {
    for await (const page of this.#follow(this.#greatest())) yield* this.#rows(page);
  }

  /** Every page as the service sends it: its rows and `meta`. */
  async *pages(): AsyncGenerator<Answer, void, undefined> {
    yield* this.#follow(this.#query);
  }

  /** All rows in an array, at most `most`. */
  async toArray(most = Infinity): Promise<Row[]> {
    const rows: Row[] = [];
    if (most <= 0) return rows;
    for await (const row of this) {
      rows.push(row);
      if (rows.length >= most) break;
    }
    return rows;
  }

  /** The query for reading all rows: the greatest pages that the service allows, unless the caller chose a size. */
  #greatest(): Record<string, unknown> {
    const paging = this.#paging;
    if (paging.style !== 'number' || paging.most === undefined || this.#query[paging.size] !== undefined) return this.#query;
    return { ...this.#query, [paging.size]: paging.most };
  }

  async *#follow(first: Record<string, unknown>): AsyncGenerator<Answer, void, undefined> {
    let query: Record<string, unknown> | undefined = first;
    while (query !== undefined) {
      const page: Answer = await this.#read(query);
      yield page;
      query = this.#next(query, page);
    }
  }

  /** The query of the page after this one; undefined after the last. */
  #next(query: Record<string, unknown>, page: Answer): Record<string, unknown> | undefined {
    const paging = this.#paging;
    const rows = this.#rows(page).length;
    if (paging.style === 'cursor') {
      const cursor = at(page, paging.cursor);
      const goesOn = at(page, ['meta', 'has_more']) === true && typeof cursor === 'string' && cursor !== query[paging.since];
      return goesOn ? { ...query, [paging.since]: cursor } : undefined;
    }
    if (rows === 0) return undefined;
    if (paging.style === 'offset') {
      const read = Number(query[paging.offset] ?? 0) + rows;
      return read < Number(at(page, paging.total)) ? { ...query, [paging.offset]: read } : undefined;
    }
    const number = Number(query[paging.page] ?? 1);
    return this.#goesOn(query, page, number, paging.size) ? { ...query, [paging.page]: number + 1 } : undefined;
  }

  #goesOn(query: Record<string, unknown>, page: Answer, number: number, size: string): boolean {
    const hasMore = at(page, ['meta', 'hasMore']);
    if (typeof hasMore === 'boolean') return hasMore;
    const pages = at(page, ['meta', 'totalPages']);
    if (typeof pages === 'number') return number < pages;
    // Without `meta` the answer has every row, unless the caller asked for pages; then an empty page is the end.
    return query[size] !== undefined;
  }

  #rows(page: Answer): Row[] {
    const rows = at(page, this.#paging.rows);
    return Array.isArray(rows) ? (rows as Row[]) : [];
  }
}
