// An asset: its score by dimensions, the answers behind them with sources, and the vaults that take it.

import type { JSX } from 'preact';
import type { Part, Rows } from '../api.js';
import { words } from '../format.js';
import { chainPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { AssetDetailAnswer, VaultRow } from '../types.js';
import { Empty, Facts, Hash, Opening, Optional, Outside, Percent, Score, Section, Text, Tier, To, Unknown, Usd, When, Words } from '../ui/basic.js';
import { VAULT_COLUMNS } from '../ui/columns.js';
import { Chart } from '../ui/chart.js';
import { Table } from '../ui/table.js';

type Asset = AssetDetailAnswer['data'];

interface Data {
  asset: Asset;
  vaults: Part<Rows<VaultRow>>;
}

const scoreOf = ({ risk_score: score }: Asset): string => (score === null ? 'not given yet' : `${score.toFixed(2)} of 10`);

export default definePage<Data>({
  async load({ api, place }) {
    const { chain = '', address = '' } = place.params;
    const { data: asset } = await api.get<{ data: Asset }>(`/v1/assets/${encodeURIComponent(chain)}/${encodeURIComponent(address)}`);
    const vaults = await api.optional<Rows<VaultRow>>('/v1/vaults', { asset: asset.symbol, chain: asset.chain_id, limit: 20 });
    return { asset, vaults };
  },
  head: ({ asset }) => ({
    title: `${asset.symbol}${asset.name ? ` · ${asset.name}` : ''}`,
    about: `${asset.symbol}, ${words(asset.category).toLowerCase()}: risk score ${scoreOf(asset)}, with the answers and sources behind it.`,
  }),
  View,
});

function View({ data: { asset, vaults }, now }: ViewProps<Data>): JSX.Element {
  const breakdown = asset.risk_score_breakdown;
  const dimensions = Object.entries(asset.dimensions).filter(([name]) => breakdown === null || breakdown === undefined || name in breakdown.weights);
  const answers = asset.answers?.answers ?? [];
  return (
    <>
      <Opening of="Assets" at="/assets" name={asset.symbol} />
      <p class="headline">
        <Tier tier={asset.risk_tier} /> <Score score={asset.risk_score} wide />
      </p>
      <Facts
        of={[
          ['Name', <Text text={asset.name} />],
          ['Category', <Words name={asset.category} />],
          ['Chain', <To href={chainPath(asset.chain_id)}>{String(asset.chain_id)}</To>],
          ['Address', <Hash text={asset.address} whole />],
          ['Issuer', <Text text={asset.issuer?.name} />],
          ['Review', <Words name={asset.review_status} />],
          ['Reviewed by', <Text text={asset.reviewed_by} />],
          ['Recorded', <When at={asset.recorded_at} now={now} />],
          ['Evidence known', <Percent of={asset.score_coverage} />],
          [
            'Possible with what is unknown',
            asset.lowest_score === null || asset.highest_score === null ? (
              <Unknown />
            ) : (
              `${asset.lowest_score.toFixed(2)} to ${asset.highest_score.toFixed(2)}`
            ),
          ],
          ['Made out of', asset.underlying_asset ? <Text text={asset.underlying_asset.symbol} /> : 'no other asset'],
          ['Fails outright', asset.hard_fail_flags.length === 0 ? 'no' : asset.hard_fail_flags.map((flag) => words(String(flag))).join(', ')],
          asset.institutional.aum_usd === null ? null : ['Under management', <Usd amount={asset.institutional.aum_usd} />],
          asset.institutional.kyc_gate === null ? null : ['KYC requirement', <Words name={asset.institutional.kyc_gate} />],
        ]}
      />
      <Section id="dimensions" title="Dimensions">
        <Table
          caption="Dimensions of the score"
          rows={dimensions}
          rowKey={([name]) => name}
          now={now}
          columns={[
            { label: 'Dimension', header: true, cell: ([name]) => words(name) },
            { label: 'Score', number: true, cell: ([, score]) => <Score score={score as number | null} /> },
            { label: 'Weight', number: true, cell: ([name]) => <Percent of={breakdown?.weights[name]} /> },
            { label: 'Rests on', cell: ([name]) => <Words name={breakdown?.dimension_basis[name] as string | undefined} /> },
          ]}
        />
        {breakdown && breakdown.overlays_applied.length > 0 && (
          <ul>
            {breakdown.overlays_applied.map(({ id, before, after, reason }) => (
              <li key={String(id)}>
                {words(String(id))}: {before.toFixed(2)} becomes {after.toFixed(2)} (<bdi>{reason}</bdi>)
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section id="questions" title="Questions and answers">
        {answers.length === 0 ? (
          <Empty>
            No answers are published for this asset{asset.score_basis === 'signed_review' ? '; its score comes from a signed review' : ''}.
          </Empty>
        ) : (
          <Table
            caption="Questions and answers"
            rows={answers}
            rowKey={({ question }, at) => `${question} ${at}`}
            now={now}
            columns={[
              { label: 'Question', header: true, cell: (row) => words(row.question) },
              { label: 'Dimension', cell: (row) => words(String(row.dimension)) },
              { label: 'Answer', cell: (row) => <bdi>{words(row.answer)}</bdi> },
              { label: 'Points', number: true, cell: (row) => <Text text={row.points} /> },
              { label: 'Counts', cell: (row) => (row.withdrawn_at ? 'withdrawn' : row.counts ? 'yes' : 'no') },
              { label: 'As of', cell: (row, clock) => <When at={row.as_of} now={clock} /> },
              { label: 'Source', cell: (row) => <Outside url={row.source_url}>{row.source_title}</Outside> },
              {
                label: 'Read from',
                cell: (row) =>
                  row.evidence ? (
                    <>
                      block {row.evidence.block_number}, {row.evidence.agreed} of {row.evidence.asked} operators agree.{' '}
                      <a href="/v1/docs/verify#read-a-score-again">Read it again</a>
                    </>
                  ) : (
                    <span class="quiet">not a chain</span>
                  ),
              },
            ]}
          />
        )}
      </Section>
      <Section id="versions" title="History">
        <Chart
          title="Score"
          series={[
            {
              name: 'Score',
              points: [...asset.version_history].reverse().map(({ recorded_at: at, risk_score: score }) => [at, score]),
              format: (value) => value.toFixed(2),
              bounds: [0, 10],
              steps: true,
            },
          ]}
        />
      </Section>
      <Section id="vaults" title="Vaults that take this symbol on this chain">
        <Optional part={vaults} what="vaults">
          {({ data }) =>
            data.length === 0 ? (
              <Empty>No vault on this chain takes an asset with this symbol.</Empty>
            ) : (
              <Table caption="Vaults that take this symbol" columns={VAULT_COLUMNS} rows={data} rowKey={(row) => row.id} now={now} />
            )
          }
        </Optional>
      </Section>
      {asset.dependency_chain.length > 0 && (
        <Section id="chain" title="What it depends on">
          <ul>
            {asset.dependency_chain.map((link) => (
              <li key={link.asset_id}>
                <a href={`/search?q=${encodeURIComponent(link.symbol)}`}>
                  <bdi>{link.symbol}</bdi>
                </a>{' '}
                <Tier tier={link.risk_tier} /> <Score score={link.risk_score} />
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}
