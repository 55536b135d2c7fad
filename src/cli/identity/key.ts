import type { IssuedKey } from '../../model/identity/key.ts'
import { operationGroup } from '../operation-command.ts'
import { type Io, line, paint } from '../terminal/io.ts'
import { goodUntil, printColumns } from '../terminal/table.ts'

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

/** The one time a key is shown. */
export function printIssued(io: Io, { key_id, principal_id, secret }: IssuedKey): void {
  line(io, `key ${key_id} for \`${principal_id}\`, shown this once:`)
  line(io, `\n  ${paint(io, 'bold', secret)}\n`)
  line(io, 'keep it like a password; put it into AMBIT_KEY to use it here')
}
