// A signal: what was found, why it matters, and which vaults depend on it.

import type { JSX } from 'preact';
import { assetPath, oraclePath, protocolPath, vaultPath } from '../links.js';
import { definePage, type ViewProps } from '../page.js';
import type { SignalDetail } from '../types.js';
import { Count, Empty, Facts, Opening, Outside, Percent, Section, SeverityMark, Text, To, Usd, When, Words } from '../ui/basic.js';
import { Table } from '../ui/table.js';

export default definePage<SignalDetail>({
  load: async ({ api, place }) => (await api.get<{ data: SignalDetail }>(`/v1/signals/${encodeURIComponent(place.params['id'] ?? '')}`)).data,
  head: (signal) => ({ title: signal.title, about: signal.summary ?? signal.title }),
  View,
});

/** The page of what a signal is about. */
function pageOf(kind: string, id: string): string | null {
  const [chain = '', address = ''] = id.split(':');
  if (kind === 'vault') return vaultPath(id);
  if (kind === 'oracle' && address) return oraclePath(Number(chain), address);
  if (kind === 'asset' && address) return assetPath(Number(chain), address);
  return kind === 'protocol' ? protocolPath(id) : null;
}

function View({ data: signal, now }: ViewProps<SignalDetail>): JSX.Element {
  return (
    <>
      <Opening of="Signals" at="/signals" name={signal.title} />
      <p class="headline">
        <SeverityMark severity={signal.severity} /> <Words name={signal.category} />
      </p>
      {signal.summary && (
        <p class="lead">
          <bdi>{signal.summary}</bdi>
        </p>
      )}
      <Facts
        of={[
          ['Why this severity', <Text text={signal.severityReason} />],
          ['Published', <When at={signal.publishedAt} now={now} />],
          ['Exposed', <Usd amount={signal.exposureUsd} />],
          ['Vaults', <Count n={signal.affectedVaultCount} />],
          ['Broken limits', <Count n={signal.breachCount} />],
          ['Significance', <Percent of={signal.significance} />],
          ['Source', <Outside url={signal.evidence.sourceUrl ?? signal.url} />],
          ['Methodology', <Text text={signal.methodologyVersion} />],
        ]}
      />
      <Section id="about" title="About">
        {signal.entitiesFull.length === 0 ? (
          <Empty>Nothing is named.</Empty>
        ) : (
          <ul>
            {signal.entitiesFull.map(({ kind, id, label, exposureUsd }) => (
              <li key={`${kind} ${id}`}>
                <Words name={String(kind)} />: <To href={pageOf(String(kind), id)}>{label || id}</To>, <Usd amount={exposureUsd} /> exposed
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section id="vaults" title="Vaults">
        {signal.affectedVaults.length === 0 ? (
          <Empty>No vault is affected.</Empty>
        ) : (
          <Table
            caption="Affected vaults"
            rows={signal.affectedVaults}
            rowKey={({ vaultKey }) => vaultKey}
            now={now}
            columns={[
              {
                label: 'Vault',
                header: true,
                cell: (row) => <To href={row.vaultId ? vaultPath(row.vaultId) : null}>{row.vaultName ?? row.vaultKey}</To>,
              },
              { label: 'Exposed', number: true, cell: (row) => <Usd amount={row.exposureUsd} /> },
              { label: 'Share', number: true, cell: (row) => <Percent of={row.exposureShare} /> },
              { label: 'Through', cell: (row) => <Text text={row.via.join(', ')} /> },
            ]}
          />
        )}
      </Section>
    </>
  );
}
