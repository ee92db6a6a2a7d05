// A protocol: its vaults, deployed versions with audits, and incidents.

import type { JSX } from 'preact';
import { counted } from '../format.js';
import { definePage, type ViewProps } from '../page.js';
import type { ProtocolPage } from '../types.js';
import { Count, Empty, Facts, Opening, Outside, Section, SeverityMark, Text, Usd, When } from '../ui/basic.js';
import { Table } from '../ui/table.js';
import { VaultsOf } from '../ui/vaults-of.js';

export default definePage<ProtocolPage>({
  load: async ({ api, place }) =>
    (await api.get<{ data: ProtocolPage }>(`/v1/protocols/${encodeURIComponent(place.params['id'] ?? '')}`, { vaultLimit: 50 })).data,
  head: ({ protocol, vaultTotal }) => ({
    title: protocol.name,
    about: `${protocol.name}: ${counted(vaultTotal, 'vault')}, deployed versions with audits, and incidents.`,
  }),
  View,
});

function View({ data: { protocol, vaults, vaultTotal, versions, incidents }, now }: ViewProps<ProtocolPage>): JSX.Element {
  return (
    <>
      <Opening of="Protocols" at="/protocols" name={protocol.name} />
      <Facts
        of={[
          ['Vaults', <Count n={vaultTotal} />],
          ['Website', <Outside url={protocol.website_url} />],
        ]}
      />
      <VaultsOf vaults={vaults} total={vaultTotal} all={`/vaults?protocol=${encodeURIComponent(protocol.id)}`} now={now} />
      <Section id="versions" title="Versions">
        {versions.length === 0 ? (
          <Empty>No versions are known.</Empty>
        ) : (
          <Table
            caption="Deployed versions"
            rows={versions}
            rowKey={({ version }, at) => version ?? `${at}`}
            now={now}
            columns={[
              { label: 'Version', header: true, cell: (row) => <Text text={row.version} /> },
              { label: 'Vaults', number: true, cell: (row) => <Count n={row.vault_count} /> },
              { label: 'Value', number: true, cell: (row) => <Usd amount={row.tvl_usd} /> },
              { label: 'First seen', cell: (row, clock) => <When at={row.first_seen_at} now={clock} /> },
              { label: 'Audits', number: true, cell: (row) => <Count n={row.audit_count} /> },
              { label: 'Newest audit', cell: (row, clock) => <When at={row.newest_audit_at} now={clock} /> },
              { label: 'Report', cell: (row) => <Outside url={row.audit_report_url} /> },
            ]}
          />
        )}
      </Section>
      <Section id="incidents" title="Incidents">
        {incidents.length === 0 ? (
          <Empty>No incidents have been recorded.</Empty>
        ) : (
          <Table
            caption="Incidents"
            rows={incidents}
            rowKey={(row, at) => `${row.title} ${at}`}
            now={now}
            columns={[
              { label: 'Time', cell: (row, clock) => <When at={row.occurred_at} now={clock} /> },
              { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
              { label: 'Incident', header: true, cell: (row) => <Text text={row.title} /> },
              { label: 'Loss', number: true, cell: (row) => <Usd amount={row.loss_amount_usd} /> },
            ]}
          />
        )}
      </Section>
    </>
  );
}
