// A book of positions: look-through shares, limits, a verdict, and a signed decision.

import type { JSX } from 'preact';
import { Workbench } from '../book/workbench.js';
import { definePage } from '../page.js';

export default definePage<null>({
  load: () => Promise.resolve(null),
  head: () => ({
    title: 'Book',
    about:
      'Check a book of positions against limits by asset, bridge, price feed, signers and chain, and get a signed decision that anybody can verify.',
  }),
  View,
});

function View(): JSX.Element {
  return (
    <>
      <h1 tabIndex={-1}>Book</h1>
      <p class="lead">
        Check a book of positions against limits by asset, bridge, price feed, signers, protocol, curator and chain, through nested vaults.
      </p>
      <p class="note">
        Nothing of your book leaves this browser until you press “Check”. Then vaults, amounts and limits are sent to this service alone, with your
        key. A limit that you move after that sends them again. The service keeps them only if you issue a decision.
      </p>
      <Workbench />
      <noscript>
        <p class="banner warn">
          This page needs JavaScript. Without it, send the book to <code>POST /v1/graph/check</code>: <a href="/v1/docs/decisions">how</a>.
        </p>
      </noscript>
      <section class="part">
        <h2>What the file looks like</h2>
        <p>
          One position a line: the vault, and the amount in US dollars. A vault is its id, or its chain and address. A first line with names is
          skipped.
        </p>
        <pre tabIndex={0}>
          <code>{'vault,amount\n1:0x0000000000000000000000000000000000000001,1500000\n'}</code>
        </pre>
      </section>
    </>
  );
}
