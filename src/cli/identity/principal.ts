import { quote } from '../../base/failure.ts'
import { operationGroup } from '../operation-command.ts'
import { line } from '../terminal/io.ts'
import { printColumns } from '../terminal/table.ts'
import { printIssued } from './key.ts'

export default operationGroup('principals', {
  create: {
    input: {
      kind: ['--kind <kind>', 'what it is (default: user)'],
      display: ['--display <text>', 'a name for people'],
      roles: ['--role <name>', 'a role, as policies and approvals name it'],
      permissions: ['--permission <name>', 'what a capability may demand'],
    },
    print: (io, { kind, principal_id }, { place }) => line(io, `${kind} \`${principal_id}\` added to ${place}`),
  },
  list: {
    print: (io, { principals }) =>
      printColumns(io, principals, 'none yet: `ambit principal create` adds one', {
        PRINCIPAL: (item) => item.principal_id,
        KIND: (item) => item.kind,
        STATUS: (item) => item.status,
        ROLES: (item) => item.roles.join(' ') || '–',
        PERMISSIONS: (item) => item.permissions.join(' ') || '–',
        CREATED: (item) => item.created_at,
      }),
  },
  permit: {
    print: (io, _, { input: { id, permission } }) => line(io, `\`${id}\` has the permission ${quote(permission)}`),
  },
  withdraw: {
    print: (io, _, { input: { id, permission } }) =>
      line(io, `\`${id}\` no longer has the permission ${quote(permission)}`),
  },
  rotate: { print: printIssued },
  revoke: { print: (io, { principal_id }) => line(io, `\`${principal_id}\` is revoked`) },
})
