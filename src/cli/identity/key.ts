import { Failure } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { issueKey, keysIn, revokeKey, rotateKey } from '../../runtime/identity/api-keys.ts'
import { wholeList } from '../../runtime/pages.ts'
import { asAdministrator, type CommonOptions, inTenant, withTenant } from '../session.ts'
import { duration } from '../terminal/duration.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/several.ts'
import { goodUntil, printList } from '../terminal/table.ts'
import { printIssued } from './issued.ts'

const register: Register = (key, io) => {
  withTenant(key.command('create <principal>'))
    .description('make an API key for a principal')
    .option('--name <text>', "what it is for (default: the principal's id)")
    .option(
      '--scope <capability>',
      'what it may call, a final `*` for all that begin so; may be given several times (default: all)',
      several,
    )
    .option('--expires <time>', 'how long it is good, such as 12h or 90d (default: until revoked)', duration)
    .action((principal: string, options: CommonOptions & { name?: string; scope?: string[]; expires?: number }) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { name, scope: scopes, expires: expiresInMs } = options
        printIssued(io, options, await issueKey(ambit, caller, defined({ principal, name, scopes, expiresInMs })))
      }),
    )

  withTenant(key.command('list'))
    .description('the keys of a tenant; never their secrets')
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const items = await wholeList((page) => keysIn(ambit, caller, page))
        const shown = items.map(({ secret_hash: _, ...rest }) => rest)
        printList(io, options, shown, 'none yet: `ambit key create` makes one', {
          KEY: (item) => item.key_id,
          PRINCIPAL: (item) => item.principal_id,
          NAME: (item) => item.name,
          SCOPES: (item) => item.scopes.join(' ') || 'all',
          GOOD: ({ revoked_at, expires_at }) => goodUntil(revoked_at, expires_at),
        })
      }),
    )

  withTenant(key.command('rotate <key-id>'))
    .description('replace a key by a new one')
    .option('--grace <time>', 'how long the old one still works, such as 1h (default: not at all)', duration)
    .action((id: string, options: CommonOptions & { grace?: number }) =>
      asAdministrator(io, options, async (ambit, caller) =>
        printIssued(io, options, await rotateKey(ambit, caller, keyId(id), options.grace)),
      ),
    )

  withTenant(key.command('revoke <key-id>'))
    .description('end a key at once')
    .action((id: string, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        await revokeKey(ambit, caller, keyId(id))
        options.json ? printJson(io, { key_id: id, revoked: true }) : line(io, `key ${id} is revoked`)
      }),
    )
}
export default register

/** Somebody who gives the whole key in place of its id must not find it repeated in the answer. */
function keyId(text: string): string {
  if (/^key_[0-9a-z]{1,64}$/.test(text)) return text
  throw new Failure('key.not_found', 'this is not the id of a key', {}, 'it begins with `key_`: see `ambit key list`')
}
