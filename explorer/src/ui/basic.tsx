// Small parts of pages: tiers, scores, amounts, instants, addresses and lists of facts. What is unknown is said as such.

import type { ComponentChildren, JSX } from 'preact';
import type { Failure, Part } from '../api.js';
import { age, count, duration, exactUsd, instant, percent, shortened, usd, words } from '../format.js';
import { outside } from '../links.js';

type Maybe<T> = T | null | undefined;

/** A value that is not known. */
export function Unknown({ children = 'unknown' }: { children?: ComponentChildren }): JSX.Element {
  return <span class="unknown">{children}</span>;
}

/** The marks of the tiers: shapes, so that no colour is needed. */
const MARKS: Record<string, string> = { Prime: 'M8 1 15 15H1z', Core: 'M2 2h12v12H2z', Edge: 'M8 1 15 8 8 15 1 8z' };

/** A tier: mark and name. */
export function Tier({ tier }: { tier: Maybe<string> }): JSX.Element {
  if (!tier || !(tier in MARKS)) return <Unknown>{tier && tier !== 'unknown' ? tier : 'not scored'}</Unknown>;
  return (
    <span class={`tier ${tier.toLowerCase()}`}>
      <svg width="12" height="12" viewBox="0 0 16 16" aria-hidden="true">
        <path d={MARKS[tier]} />
      </svg>
      {tier}
    </span>
  );
}

/** A score from 0 to 10: number and bar. */
export function Score({ score, wide = false }: { score: Maybe<number>; wide?: boolean }): JSX.Element {
  if (score === null || score === undefined) return <Unknown>not scored</Unknown>;
  const width = wide ? 160 : 48;
  return (
    <span class="score">
      <b>{score.toFixed(2)}</b>
      <svg width={width} height="6" viewBox={`0 0 ${width} 6`} aria-hidden="true">
        <rect class="track" width={width} height="6" rx="3" />
        <rect class="value" width={Math.max(2, (width * Math.min(10, Math.max(0, score))) / 10)} height="6" rx="3" />
      </svg>
    </span>
  );
}

/** A severity: mark and word. */
export function SeverityMark({ severity }: { severity: Maybe<string> }): JSX.Element {
  if (!severity) return <Unknown />;
  const level = /critical|high|breach/i.test(severity) ? 'bad' : /warn|medium|watch|riskchange/i.test(severity) ? 'warn' : 'calm';
  const mark = { bad: '▲', warn: '◆', calm: '●' }[level];
  return (
    <span class={`severity ${level}`}>
      <span aria-hidden="true">{mark}</span> {words(severity)}
    </span>
  );
}

/** An amount in US dollars, rounded; the exact one is its title. */
export function Usd({ amount }: { amount: Maybe<number | string> }): JSX.Element {
  const value = typeof amount === 'string' ? Number(amount) : amount;
  if (value === null || value === undefined || !Number.isFinite(value)) return <Unknown />;
  return (
    <data value={String(amount)} title={exactUsd(value)}>
      {usd(value)}
    </data>
  );
}

/** A fraction as a percentage. */
export function Percent({ of }: { of: Maybe<number> }): JSX.Element {
  return of === null || of === undefined ? <Unknown /> : <>{percent(of)}</>;
}

/** A number. */
export function Count({ n }: { n: Maybe<number> }): JSX.Element {
  return n === null || n === undefined ? <Unknown /> : <>{count(n)}</>;
}

/** An instant with its age. */
export function When({ at, now, short = false }: { at: Maybe<string>; now: string; short?: boolean }): JSX.Element {
  if (!at) return <Unknown />;
  return (
    <time dateTime={at} title={instant(at)}>
      {short ? age(at, now) || instant(at) : `${instant(at)} (${age(at, now)})`}
    </time>
  );
}

/** A duration in seconds. */
export function Duration({ seconds }: { seconds: Maybe<number> }): JSX.Element {
  return seconds === null || seconds === undefined ? <Unknown /> : <>{duration(seconds)}</>;
}

/** An address or a hash: shortened, whole as its title. */
export function Hash({ text, whole = false }: { text: Maybe<string>; whole?: boolean }): JSX.Element {
  if (!text) return <Unknown />;
  return (
    <code class={whole ? 'hash whole' : 'hash'} title={text}>
      {whole ? text : shortened(text)}
    </code>
  );
}

/** A text that may be missing. */
export function Text({ text }: { text: Maybe<string | number | boolean> }): JSX.Element {
  if (text === null || text === undefined || text === '') return <Unknown />;
  if (typeof text === 'boolean') return <>{text ? 'yes' : 'no'}</>;
  return <bdi>{String(text)}</bdi>;
}

/** A name such as `deposit_status` as words. */
export function Words({ name }: { name: Maybe<string> }): JSX.Element {
  return name ? <>{words(name)}</> : <Unknown />;
}

/** A link to another site; its text alone if the address is not one of the web. */
export function Outside({ url, children }: { url: Maybe<string>; children?: ComponentChildren }): JSX.Element {
  const href = outside(url);
  if (!url) return <Unknown />;
  if (!href) return <bdi>{children || url}</bdi>;
  return (
    <a href={href} rel="noopener noreferrer nofollow ugc">
      <bdi>{children || href.replace(/^https?:\/\//, '').replace(/\/$/, '')}</bdi>
    </a>
  );
}

/** A link inside the explorer; the text alone if there is no address. */
export function To({ href, children }: { href: Maybe<string>; children: ComponentChildren }): JSX.Element {
  return href ? (
    <a href={href}>
      <bdi>{children}</bdi>
    </a>
  ) : (
    <bdi>{children}</bdi>
  );
}

/** Facts: names and values. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren] | null)[] }): JSX.Element {
  return (
    <dl class="facts">
      {of.map(
        (fact, at) =>
          fact && (
            <div key={`${fact[0]} ${at}`}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** How the page of a row begins: the list that it is in, with the list's address, and its name. */
export function Opening({ of, at, name }: { of: string; at: string; name: string }): JSX.Element {
  return (
    <>
      <p class="crumbs">
        <a href={at}>{of}</a>
      </p>
      <h1 tabIndex={-1}>
        <bdi>{name}</bdi>
      </h1>
    </>
  );
}

/** A section with its heading. */
export function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section aria-labelledby={id} class="part">
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** Why a part of a page is missing. */
export function Missing({ failure, what }: { failure: Failure; what: string }): JSX.Element {
  const { status, retryAfter } = failure;
  const why =
    status === 404
      ? `There is no record of ${what}.`
      : status === 401 || status === 403
        ? `A key that allows it is needed for ${what}. Add it with “Key” above.`
        : status === 429
          ? `Too many requests for now: ${what} can be loaded again${retryAfter ? ` in ${duration(retryAfter)}` : ' later'}.`
          : `${what.charAt(0).toUpperCase()}${what.slice(1)} cannot be loaded now.`;
  return <p class="quiet">{why}</p>;
}

/** A part that may be missing: `children` of its data, or why it is missing. */
export function Optional<T>({ part, what, children }: { part: Part<T>; what: string; children: (data: T) => ComponentChildren }): JSX.Element {
  return part.failure ? <Missing failure={part.failure} what={what} /> : <>{children(part.data)}</>;
}

/** Nothing to show. */
export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}
