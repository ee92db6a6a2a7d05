// The loss board: attacks with stated losses, and how far the sources cover them.

import type { LossMeta, LossRow } from '../types.js';
import { count } from '../format.js';
import { outside } from '../links.js';
import { Facts, Outside, SeverityMark, Text, Usd, When, Words } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<LossRow>({
  api: '/v1/security-events/losses',
  title: 'Losses',
  about: 'Attacks and failures with the losses that their sources state, newest first.',
  noun: 'incidents',
  rowKey: (row) => row.id,
  above: ({ meta }, _place, now) => {
    const {
      totalLossUsd,
      coverageSource,
      coverageTotal,
      coverageTotalLossUsd,
      coverageRefreshedAt,
      evidenceCoveredIncidents,
      transactionCoveredIncidents,
    } = meta as LossMeta;
    return (
      <Facts
        of={[
          ['Lost, in this list', <Usd key="loss" amount={totalLossUsd} />],
          ['Covered by the source', coverageSource ? `${count(coverageTotal)} incidents of ${coverageSource}` : 'no source yet'],
          ['Lost, in the source', <Usd key="all" amount={coverageTotalLossUsd} />],
          ['With evidence', `${count(evidenceCoveredIncidents)}, ${count(transactionCoveredIncidents)} with transactions`],
          ['Source read', <When key="read" at={coverageRefreshedAt} now={now} />],
        ]}
      />
    );
  },
  columns: [
    { label: 'Attacked', cell: (row, now) => <When at={row.attackedAt} now={now} short /> },
    { label: 'Incident', header: true, cell: (row) => <Text text={row.title} /> },
    { label: 'Loss', number: true, cell: (row) => <Usd amount={row.lossAmountUsd} /> },
    { label: 'Returned', number: true, cell: (row) => <Usd amount={row.returnedFundsUsd} /> },
    { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
    { label: 'Class', cell: (row) => <Words name={row.classification} /> },
    { label: 'Protocol', cell: (row) => <Text text={row.protocol?.name} /> },
    { label: 'Chains', cell: (row) => <Text text={row.chains.map(({ chainSlug }) => chainSlug).join(', ')} /> },
    {
      label: 'References',
      cell: (row) => {
        const links = row.incidentDossier.evidence.links.filter(({ url }) => outside(url));
        return links.length === 0 ? (
          <span class="quiet">none</span>
        ) : (
          links.map(({ url, label }, at) => (
            <Outside key={at} url={url}>
              {label ?? `${at + 1}`}
            </Outside>
          ))
        );
      },
    },
  ],
});
