import { operationGroup } from '../operation-command.ts'
import { line } from '../terminal/io.ts'
import { goodUntil, printColumns } from '../terminal/table.ts'
import { printIssued } from './issued.ts'

export default operationGroup('keys', {
  create: {
    input: {
      name: ['--name <text>', "what it is for (default: the principal's id)"],
      scopes: ['--scope <capability>', 'what it may call, a final `*` for all that begin so (default: all)'],
      expires: ['--expires <time>', 'how long it is good, such as 12h or 90d (default: until revoked)'],
    },
    print: printIssued,
  },
  list: {
    print: (io, { keys }) =>
      printColumns(io, keys, 'none yet: `ambit key create` makes one', {
        KEY: (item) => item.key_id,
        PRINCIPAL: (item) => item.principal_id,
        NAME: (item) => item.name,
        SCOPES: (item) => item.scopes.join(' ') || 'all',
        GOOD: ({ revoked_at, expires_at }) => goodUntil(revoked_at, expires_at),
      }),
  },
  rotate: {
    input: {
      id: ['key-id', 'see `ambit key list`'],
      grace: ['--grace <time>', 'how long the old one still works, such as 1h (default: not at all)'],
    },
    print: printIssued,
  },
  revoke: {
    input: { id: ['key-id', 'see `ambit key list`'] },
    print: (io, { key_id }) => line(io, `key ${key_id} is revoked`),
  },
})
