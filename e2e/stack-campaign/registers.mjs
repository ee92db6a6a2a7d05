// What each edge showed, as registers for a linearizability checker that is not ours, and the watch that notes when the edge has acknowledged what
// was written.

import { ending } from '../campaign/histories.mjs';
import { grouped } from './record.mjs';

/** Interval of the looks at what the edge has acknowledged. */
const LOOK_MILLIS = 50;
const VERSIONS = 'select t.tag, t.version::text, coalesce(e.version, 0)::text as known from data_tag t left join edge_tag e using (tag)';
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** Looks again and again which states the edge has acknowledged, while the database answers. */
export class AcknowledgementWatch {
  #stopped = false;

  constructor(postgres, written) {
    this.done = this.#run(postgres, written);
  }

  async #run(postgres, written) {
    while (!this.#stopped) {
      const began = performance.now();
      const tags = await postgres.ask(VERSIONS).catch(() => undefined);
      if (tags) written.look(began, tags);
      await sleep(LOOK_MILLIS);
    }
  }

  stop() {
    this.#stopped = true;
    return this.done;
  }
}

/**
 * Each page of a group's state at each edge as a register, up to the first restore: what was written, and what the responses showed that were not
 * marked as stale. A write ends when the edge has acknowledged it, because until then a page may show the state before it.
 */
export function ofStates(answers, written, restores) {
  const end = Math.min(Infinity, ...restores.map(({ from }) => from));
  const isFresh = ({ status, numbers, cache, ended }) => status === 200 && numbers !== undefined && cache !== 'STALE-ERROR' && ended < end;
  const pages = grouped(answers.filter(isFresh), ({ target, edgeIndex }) => `${target} at edge ${edgeIndex}`);
  return [...pages].flatMap(([object, reads]) => {
    const { began, acknowledged } = written.groups.get(reads[0].group);
    const writes = [...began].filter(([, at]) => at < end);
    return [
      ...writes.map(([number, at]) => ({ object, as: 'register', who: 'the writer', write: number, began: at, ended: ending(acknowledged.get(number)) })),
      ...reads.map(({ who, numbers: [number], began, ended }) => ({ object, as: 'register', who, read: number, began, ended })),
    ];
  });
}
