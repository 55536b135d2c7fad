import { operationGroup } from '../operation-command.ts'
import { line } from '../terminal/io.ts'
import { goodUntil, printColumns } from '../terminal/table.ts'

export default operationGroup('approvers', {
  add: {
    input: {
      roles: ['--role <name>', 'a role, as policies name it'],
      key: ['--public-key <key>', 'their own Ed25519 key: then only grants that they sign count as a yes'],
      expires: ['--expires <time>', 'how long they may decide, such as 90d (default: until revoked)'],
    },
    print: (io, { principal, roles, custody }) =>
      line(io, `\`${principal}\` may decide as ${roles.join(', ')}; ${custodies[custody]}`),
  },
  list: {
    print: (io, { approvers }) =>
      printColumns(io, approvers, 'none yet: `ambit approver add` adds one', {
        APPROVER: (item) => item.approver_id,
        PRINCIPAL: (item) => item.principal,
        ROLES: (item) => item.roles.join(' '),
        KEY: (item) => (item.custody === 'self' ? `own ${item.key_id}` : 'host'),
        GOOD: ({ revoked_at, valid_until }) => goodUntil(revoked_at, valid_until),
      }),
  },
  revoke: {
    input: { id: ['principal'] },
    print: (io, { approver_id }) => line(io, `\`${approver_id}\` decides about nothing any more`),
  },
})

const custodies = {
  host: 'the host signs for them once their API key has named them',
  self: 'they sign each yes with their own key',
} as const
