// A vault: its score explained, its history, its inputs, its holders, and what it depends on.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Part } from '../api.js';
import { inComparison, toggle } from '../comparison.js';
import { percent, usd, words } from '../format.js';
import { chainPath, curatorPath, eventPath, exposurePath, protocolPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { HolderSnapshot, ScoreHistoryPoint, VaultDetail, VaultPage } from '../types.js';
import {
  Count,
  Duration,
  Empty,
  Facts,
  Hash,
  Missing,
  Opening,
  Optional,
  Outside,
  Percent,
  Score,
  Section,
  SeverityMark,
  Text,
  Tier,
  To,
  Unknown,
  Usd,
  When,
  Words,
} from '../ui/basic.js';
import { Chart, type Mark } from '../ui/chart.js';
import { Inputs, inputsOf } from '../ui/inputs.js';
import { ScoreParts } from '../ui/score-parts.js';
import { Table } from '../ui/table.js';

interface Data {
  page: VaultPage;
  history: Part<{ data: ScoreHistoryPoint[] }>;
  holders: Part<{ data: HolderSnapshot }>;
}

export default definePage<Data>({
  async load({ api, place }) {
    const { data: page } = await api.get<{ data: VaultPage }>(`/v1/vaults/${encodeURIComponent(place.params['id'] ?? '')}`, { points: 180 });
    const path = `/v1/vault/${page.vault.chain_id}/${encodeURIComponent(page.vault.address)}`;
    const [history, holders] = await Promise.all([
      api.optional<{ data: ScoreHistoryPoint[] }>(`${path}/score-history`),
      api.optional<{ data: HolderSnapshot }>(`${path}/holders`),
    ]);
    return { page, history, holders };
  },
  head({ page: { vault } }) {
    const locked = vault.tvl_status === 'observed' ? usd(vault.tvl_usd) : 'an unknown amount';
    const name = vault.name || vault.id;
    const score = vault.total_score === null ? 'not scored' : `${vault.total_score.toFixed(2)} of 10, ${vault.risk_tier ?? 'no tier'}`;
    return {
      title: name,
      about: `${name}, a vault of ${vault.protocol_name} on ${vault.chain_name}: risk score ${score}; ${locked} locked.`,
    };
  },
  View,
});

function View({ data: { page, history, holders }, now }: ViewProps<Data>): JSX.Element {
  const { vault, events } = page;
  return (
    <>
      <Opening of="Vaults" at="/vaults" name={vault.name || vault.id} />
      <p class="headline">
        <Tier tier={vault.risk_tier} /> <Score score={vault.total_score} wide /> <Compare id={vault.id} />
      </p>
      {!vault.is_active && <p class="banner warn">This vault is no longer active.</p>}
      {vault.needs_risk_review && <p class="banner warn">The score of this vault is provisional: its data waits for a review.</p>}
      <Overview vault={vault} now={now} />
      <Section id="score" title="Why this score">
        <ScoreParts vault={vault} />
      </Section>
      <Section id="history" title="History">
        {history.failure && <Missing failure={history.failure} what="the history of the score" />}
        <History page={page} scores={history.data?.data ?? []} />
      </Section>
      <Section id="inputs" title="Inputs">
        {vault.score_provenance ? (
          <Inputs inputs={inputsOf(vault.score_provenance.inputs)} now={now} again="/v1/docs/verify#read-a-score-again" />
        ) : (
          <Empty>No inputs have been recorded.</Empty>
        )}
        <Answers vault={vault} now={now} />
      </Section>
      <Section id="depends" title="What it depends on">
        <p>
          <a href={exposurePath(vault.id)}>The exposure graph</a>: vaults, assets, feeds, bridges and signers below this vault.
        </p>
        <Exposures vault={vault} />
      </Section>
      <Section id="holders" title="Holders">
        <Optional part={holders} what="holders">
          {({ data }) => <Holders holders={data} now={now} />}
        </Optional>
      </Section>
      <Section id="events" title="Events">
        {events.length === 0 ? (
          <Empty>No events have been recorded for this vault.</Empty>
        ) : (
          <Table
            caption="Events of this vault"
            rows={events}
            rowKey={({ id }) => id}
            now={now}
            columns={[
              { label: 'Time', cell: (row, clock) => <When at={row.occurred_at} now={clock} /> },
              { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
              { label: 'Event', header: true, cell: (row) => <To href={eventPath(row.id)}>{row.title}</To> },
              { label: 'State', cell: (row) => (row.retracted_at ? `retracted: ${row.retracted_reason ?? 'no reason given'}` : 'published') },
            ]}
          />
        )}
      </Section>
    </>
  );
}

/** Puts the vault into the comparison or takes it out. */
function Compare({ id }: { id: string }): JSX.Element | null {
  const [has, set] = useState<boolean | null>(null);
  useEffect(() => set(inComparison(id)), [id]);
  if (has === null) return null;
  return (
    <>
      <button type="button" aria-pressed={has} onClick={() => set(toggle(id))}>
        {has ? 'In the comparison' : 'Compare'}
      </button>{' '}
      {has && <a href="/compare">Open the comparison</a>}
    </>
  );
}

function Overview({ vault, now }: { vault: VaultDetail; now: string }): JSX.Element {
  return (
    <Facts
      of={[
        ['Value locked', vault.tvl_status === 'observed' ? <Usd amount={vault.tvl_usd} /> : <Unknown />],
        ['APR, net', <Percent of={vault.apr_net} />],
        ['Protocol', <To href={protocolPath(vault.protocol_id)}>{vault.protocol_name}</To>],
        ['Curator', vault.curator_id ? <To href={curatorPath(vault.curator_id)}>{vault.curator_name ?? vault.curator_id}</To> : 'none'],
        ['Chain', <To href={chainPath(vault.chain_id)}>{vault.chain_name}</To>],
        [
          'Asset',
          vault.asset_symbol ? (
            <a
              href={
                vault.asset_address ? `/assets/${vault.chain_id}/${vault.asset_address}` : `/assets?search=${encodeURIComponent(vault.asset_symbol)}`
              }
            >
              <bdi>{vault.asset_symbol}</bdi>
            </a>
          ) : (
            <Unknown />
          ),
        ],
        ['Strategy', <Words name={vault.strategy_type} />],
        ['Deposits', <Words name={vault.deposit_status} />],
        ['Withdrawals', <Words name={vault.withdraw_status} />],
        ['Available now', <Usd amount={vault.available_liquidity_usd} />],
        ['Utilization', <Percent of={vault.utilization} />],
        [
          'Audits',
          vault.is_audited ? (
            <Outside url={vault.audit_report_url}>{vault.auditors.length > 0 ? vault.auditors.join(', ') : 'audited'}</Outside>
          ) : (
            <Words name={vault.audit_status} />
          ),
        ],
        ['Timelock', <Duration seconds={vault.timelock_seconds} />],
        ['Code can change', vault.is_immutable === null ? <Unknown /> : vault.is_immutable ? 'no' : 'yes'],
        ['Address', <Hash text={vault.address} whole />],
        ['Deployed', <When at={vault.deployment_timestamp} now={now} />],
        ['Read', <When at={vault.last_synced_at} now={now} />],
      ]}
    />
  );
}

function History({ page, scores }: { page: VaultPage; scores: readonly ScoreHistoryPoint[] }): JSX.Element {
  const marks: Mark[] = [
    ...page.events.map(({ occurred_at: at, title, id }) => ({ at, label: title, href: eventPath(id) })),
    ...scores.flatMap(({ observed_at: at, methodology_version: version }, n) => {
      const before = scores[n - 1];
      return before && before.methodology_version !== version
        ? [{ at, label: `Methodology ${version} instead of ${before.methodology_version}` }]
        : [];
    }),
  ];
  return (
    <Chart
      title="Score, value locked and price per share"
      marks={marks}
      series={[
        {
          name: 'Score',
          points: scores.map(({ observed_at: at, new_score: score }) => [at, score]),
          format: (value) => value.toFixed(2),
          bounds: [0, 10],
          steps: true,
        },
        { name: 'Value locked', points: page.snapshots.map(({ recorded_at: at, tvl_usd: value }) => [at, value]), format: usd },
        {
          name: 'Price per share',
          points: page.snapshots.map(({ recorded_at: at, price_per_share: value }) => [at, value]),
          format: (value) => value.toPrecision(6),
        },
      ]}
    />
  );
}

function Answers({ vault, now }: { vault: VaultDetail; now: string }): JSX.Element | null {
  const { answers } = vault.score_evidence;
  if (answers.length === 0) return null;
  return (
    <>
      <h3>Answers with sources</h3>
      <Table
        caption="Answers with sources"
        rows={answers}
        rowKey={({ subject, input }, at) => `${subject} ${String(input)} ${at}`}
        now={now}
        columns={[
          { label: 'About', header: true, cell: (row) => <bdi>{row.subject}</bdi> },
          { label: 'Input', cell: (row) => words(String(row.input)) },
          { label: 'Counts', cell: (row) => (row.counts ? 'yes' : 'no') },
          { label: 'As of', cell: (row, clock) => <When at={row.as_of} now={clock} /> },
          { label: 'Source', cell: (row) => <Outside url={row.source_url}>{row.source_title}</Outside> },
          { label: 'Given by', cell: (row) => <bdi>{row.given_by}</bdi> },
        ]}
      />
    </>
  );
}

interface Exposed {
  id: string;
  share: number;
  score: number | null;
  oracle?: unknown;
}

function Exposures({ vault }: { vault: VaultDetail }): JSX.Element {
  const exposures = (vault.score_provenance?.inputs.asset as { exposures?: Exposed[] } | undefined)?.exposures ?? [];
  if (exposures.length === 0) return <p class="quiet">The score rests on the deposit asset alone; no other exposures are recorded.</p>;
  return (
    <Table
      caption="Exposures that the score counts"
      rows={exposures}
      rowKey={({ id }, at) => `${id} ${at}`}
      now=""
      columns={[
        {
          label: 'Exposure',
          header: true,
          cell: ({ id }) => (
            <To href={id.startsWith('vault:') ? `/vaults/${encodeURIComponent(id.slice(6))}` : `/search?q=${encodeURIComponent(id)}`}>
              {id.replace(/^vault:/, '')}
            </To>
          ),
        },
        { label: 'Share', number: true, cell: ({ share }) => percent(share) },
        { label: 'Score', number: true, cell: ({ score }) => <Score score={score} /> },
        { label: 'Price from', cell: ({ oracle }) => (typeof oracle === 'string' ? words(oracle) : <Unknown />) },
      ]}
    />
  );
}

function Holders({ holders, now }: { holders: HolderSnapshot; now: string }): JSX.Element {
  return (
    <>
      <Facts
        of={[
          ['Holders', <Count n={holders.holder_count} />],
          ['Largest', <Percent of={holders.top1_pct} />],
          ['Largest five', <Percent of={holders.top5_pct} />],
          ['Largest ten', <Percent of={holders.top10_pct} />],
          ['Held by protocols', <Percent of={holders.protocol_managed_pct} />],
          ['Coverage', <Words name={holders.coverage_status} />],
          ['Counted', <When at={holders.computed_at} now={now} />],
        ]}
      />
      {holders.top_holders.length > 0 && (
        <Table
          caption="The largest holders"
          rows={holders.top_holders}
          rowKey={({ address }) => address}
          now={now}
          columns={[
            { label: 'Holder', header: true, cell: ({ address }) => <Hash text={address} /> },
            { label: 'Share', number: true, cell: ({ pct }) => percent(pct) },
            { label: 'Known as', cell: ({ label }) => <Text text={label} /> },
            { label: 'Kind', cell: ({ category }) => <Words name={category} /> },
          ]}
        />
      )}
    </>
  );
}
