// The security registry.

import { chainPath, eventPath } from '../links.js';
import type { SecurityEvent } from '../types.js';
import { Hash, Outside, SeverityMark, Text, To, Usd, When } from '../ui/basic.js';
import { listPage } from '../ui/list.js';

export default listPage<SecurityEvent>({
  api: '/v1/security-events',
  title: 'Security registry',
  about: 'Reported attacks with who was hit, how far they are confirmed, and whether they touch what is followed here.',
  noun: 'reports',
  rowKey: (row) => row.id,
  columns: [
    { label: 'Attacked', cell: (row, now) => <When at={row.attackedAt} now={now} short /> },
    { label: 'Severity', cell: (row) => <SeverityMark severity={row.severity} /> },
    {
      label: 'Report',
      header: true,
      cell: (row) => (row.promotedEventId ? <To href={eventPath(row.promotedEventId)}>{row.title}</To> : <Text text={row.title} />),
    },
    { label: 'Loss', number: true, cell: (row) => <Usd amount={row.lossAmountUsd} /> },
    {
      label: 'Chain',
      cell: (row) => (row.chainId === null ? <Text text={null} /> : <To href={chainPath(row.chainId)}>{row.chainSlug ?? String(row.chainId)}</To>),
    },
    { label: 'Confirmed', number: true, cell: (row) => `${row.confirmations} for, ${row.disconfirmations} against` },
    { label: 'Touches what is followed', cell: (row) => (row.affectsTrackedUniverse ? 'yes' : 'no') },
    {
      label: 'Victims',
      cell: (row) => (row.victims.length === 0 ? <Text text={null} /> : row.victims.map((address) => <Hash key={address} text={address} />)),
    },
    { label: 'Source', cell: (row) => <Outside url={row.nativeUrl ?? row.links[0]?.url}>{row.source}</Outside> },
  ],
});
