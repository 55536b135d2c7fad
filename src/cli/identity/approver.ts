import { Failure } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { formatTime } from '../../base/time.ts'
import { addApprover, approversOf, revokeApprover } from '../../runtime/identity/approvers.ts'
import { wholeList } from '../../runtime/pages.ts'
import { asAdministrator, type CommonOptions, inTenant, withTenant } from '../session.ts'
import { duration } from '../terminal/duration.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/several.ts'
import { goodUntil, printList } from '../terminal/table.ts'

interface AddOptions extends CommonOptions {
  readonly role?: string[]
  readonly publicKey?: string
  readonly expires?: number
}

const register: Register = (approver, io) => {
  withTenant(approver.command('add <principal>'))
    .description('let a person decide about calls that ask for one of these roles')
    .option('--role <name>', 'a role, as policies name it; may be given several times', several)
    .option('--public-key <key>', 'their own Ed25519 key: then only grants that they sign count as a yes')
    .option('--expires <time>', 'how long they may decide, such as 90d (default: until revoked)', duration)
    .action((principal: string, options: AddOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { role: roles, publicKey, expires } = options
        if (roles === undefined)
          throw new Failure('field.missing', 'an approver needs a role', {}, 'name one with --role, as the policy does')
        const validUntil = expires === undefined ? undefined : formatTime(ambit.clock.now() + expires)
        const made = await addApprover(ambit, caller, defined({ principal, roles, publicKey, validUntil }))
        if (options.json) return printJson(io, made)
        line(io, `\`${principal}\` may decide as ${made.roles.join(', ')}; ${custodies[made.custody]}`)
      }),
    )

  withTenant(approver.command('list'))
    .description('the approvers of a tenant')
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const items = await wholeList((page) => approversOf(ambit, caller, page))
        printList(io, options, items, 'none yet: `ambit approver add` adds one', {
          APPROVER: (item) => item.approver_id,
          PRINCIPAL: (item) => item.principal,
          ROLES: (item) => item.roles.join(' '),
          KEY: (item) => (item.custody === 'self' ? `own ${item.key_id}` : 'host'),
          GOOD: ({ revoked_at, valid_until }) => goodUntil(revoked_at, valid_until),
        })
      }),
    )

  withTenant(approver.command('revoke <principal>'))
    .description('end it: this person decides about nothing, and what they said no longer counts')
    .action((id: string, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        await revokeApprover(ambit, caller, id)
        options.json
          ? printJson(io, { approver_id: id, revoked: true })
          : line(io, `\`${id}\` decides about nothing any more`)
      }),
    )
}
export default register

const custodies = {
  host: 'the host signs for them once their API key has named them',
  self: 'they sign each yes with their own key',
} as const
