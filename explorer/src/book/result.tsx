// The answer to a check: verdict, findings, exposures, and the decision if one was issued.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { percent, words } from '../format.js';
import { outsideId } from '../exposure/ids.js';
import type { CheckResult, PublishedSigner } from '../types.js';
import { Facts, Hash, Section, To, Usd } from '../ui/basic.js';
import { Table } from '../ui/table.js';
import { Api, ApiFailure, type Rows } from '../api.js';
import { browserSend } from '../send.js';

const VERDICTS: Record<string, readonly [string, string, string]> = {
  approve: ['●', 'good', 'Approve: every limit holds.'],
  caution: ['◆', 'warn', 'Caution: something cannot be verified or is not known.'],
  reject: ['▲', 'bad', 'Reject: a limit is broken.'],
};
const PAGES: Record<string, string> = { asset: 'asset', chain: 'chain', curator: 'curator', protocol: 'protocol', oracle: 'oracle' };

/** The answer. */
export function Result({ result }: { result: CheckResult }): JSX.Element {
  const [mark, level, text] = VERDICTS[String(result.verdict)] ?? ['?', '', words(String(result.verdict))];
  const exposures = Object.entries(result.exposures).filter(([, rows]) => rows.length > 0);
  return (
    <div class="result">
      <Section id="verdict" title="Verdict">
        <p class={`verdict feed ${level}`} role="status">
          <span aria-hidden="true">{mark}</span> {text}
        </p>
        <Facts
          of={[
            ['Book', <Usd amount={result.totalUsd} />],
            ['Not attributed', <Usd amount={result.unattributedUsd} />],
            ['Vaults that are not known', result.unresolvedVaults.length === 0 ? 'none' : result.unresolvedVaults.join(', ')],
            ['Snapshot', <Hash text={result.snapshotId} whole />],
          ]}
        />
        {result.findings.length > 0 && (
          <Table
            caption="Findings"
            rows={result.findings}
            rowKey={({ limit, key }) => `${limit} ${key}`}
            now=""
            columns={[
              { label: 'What', header: true, cell: ({ dimension, key }) => `${words(String(dimension))}: ${key}` },
              { label: 'Finding', cell: ({ kind }) => words(String(kind)) },
              { label: 'Share', number: true, cell: ({ share }) => percent(share) },
              { label: 'Limit', number: true, cell: ({ maxShare }) => percent(maxShare) },
              { label: 'Amount', number: true, cell: ({ usd }) => <Usd amount={usd} /> },
              { label: 'Verified', cell: ({ verified }) => (verified ? 'yes' : 'no') },
            ]}
          />
        )}
      </Section>
      {result.decision && <Decision result={result} />}
      <Section id="exposures" title="Exposures">
        {exposures.map(([dimension, rows]) => (
          <details key={dimension} open={dimension === 'asset'}>
            <summary>
              By {words(dimension).toLowerCase()}: {rows.length}
            </summary>
            <Table
              caption={`Exposures by ${words(dimension).toLowerCase()}`}
              rows={rows}
              rowKey={({ key }) => key}
              now=""
              columns={[
                {
                  label: words(dimension),
                  header: true,
                  cell: ({ key }) => <To href={PAGES[dimension] ? outsideId(PAGES[dimension], key) : null}>{key}</To>,
                },
                { label: 'Share', number: true, cell: ({ share }) => percent(share) },
                { label: 'Amount', number: true, cell: ({ usd }) => <Usd amount={usd} /> },
                { label: 'Verified', cell: ({ verified }) => (verified ? 'yes' : 'no') },
              ]}
            />
          </details>
        ))}
      </Section>
    </div>
  );
}

type Proof = { state: 'asking' } | { state: 'genuine'; signer: string } | { state: 'failed'; why: string };

/** The decision, verified in this browser against the published signers. */
function Decision({ result }: { result: CheckResult }): JSX.Element | null {
  const { decision } = result;
  const [proof, setProof] = useState<Proof>({ state: 'asking' });
  useEffect(() => {
    if (!decision) return undefined;
    let live = true;
    const say = (next: Proof): void => {
      if (live) setProof(next);
    };
    setProof({ state: 'asking' });
    void (async () => {
      try {
        const [{ verifyDecision }, signers] = await Promise.all([
          import('../../../clients/typescript/src/decisions.js'),
          new Api(browserSend).get<Rows<PublishedSigner>>('/v1/graph/signers'),
        ]);
        const verified = verifyDecision(decision, signers.data);
        say(
          verified.isGenuine
            ? { state: 'genuine', signer: decision.signerAddress }
            : { state: 'failed', why: 'the signature does not belong to a published signer' },
        );
      } catch (error) {
        say({ state: 'failed', why: error instanceof ApiFailure ? error.failure.message : 'this browser could not verify it' });
      }
    })();
    return () => {
      live = false;
    };
  }, [decision]);
  if (!decision) return null;
  const says = {
    asking: 'Verifying …',
    genuine: 'Genuine: this browser has verified the signature.',
    failed: `Not proved: ${proof.state === 'failed' ? proof.why : ''}`,
  }[proof.state];
  return (
    <Section id="decision" title="Decision">
      <p role="status" class={`feed ${proof.state === 'genuine' ? 'good' : proof.state === 'failed' ? 'bad' : ''}`}>
        {says}
      </p>
      <Facts
        of={[
          ['Decision', <Hash text={decision.decisionId} whole />],
          ['Signed by', <Hash text={decision.signerAddress} />],
          ['Share it', <a href={`/v1/docs/verify#${decision.decisionId}`}>The page on which anybody can verify it</a>],
        ]}
      />
    </Section>
  );
}
