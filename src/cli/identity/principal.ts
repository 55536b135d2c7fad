import { Option } from 'commander'
import { quote } from '../../base/failure.ts'
import { defined } from '../../base/object.ts'
import { principalKind } from '../../model/identity/principal.ts'
import { renewKeys } from '../../runtime/identity/api-keys.ts'
import {
  createPrincipal,
  type NewPrincipal,
  permit,
  principalsOf,
  revokePrincipal,
  withdraw,
} from '../../runtime/identity/principals.ts'
import { wholeList } from '../../runtime/pages.ts'
import { asAdministrator, type CommonOptions, inTenant, withTenant } from '../session.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/several.ts'
import { printList } from '../terminal/table.ts'
import { printIssued } from './issued.ts'

interface CreateOptions {
  readonly kind: NewPrincipal['kind']
  readonly display?: string
  readonly role?: string[]
  readonly permission?: string[]
}

const register: Register = (principal, io) => {
  withTenant(principal.command('create <id>'))
    .description('add a person, service, agent or automation')
    .addOption(new Option('--kind <kind>', 'what it is').choices(principalKind.options).default('user'))
    .option('--display <text>', 'a name for people')
    .option('--role <name>', 'a role, as policies and approvals name it; may be given several times', several)
    .option('--permission <name>', 'what a capability may demand; may be given several times', several)
    .action((id: string, options: CommonOptions & CreateOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const { kind, display, role: roles, permission: permissions } = options
        const made = await createPrincipal(ambit, caller, defined({ id, kind, display, roles, permissions }))
        options.json ? printJson(io, made) : line(io, `${made.kind} \`${id}\` added to tenant \`${caller.tenant}\``)
      }),
    )

  withTenant(principal.command('list'))
    .description('the principals of a tenant')
    .action((options: CommonOptions) =>
      inTenant(io, options, async (ambit, caller) => {
        const items = await wholeList((page) => principalsOf(ambit, caller, page))
        printList(io, options, items, 'none yet: `ambit principal create` adds one', {
          PRINCIPAL: (item) => item.principal_id,
          KIND: (item) => item.kind,
          STATUS: (item) => item.status,
          ROLES: (item) => item.roles.join(' ') || '–',
          PERMISSIONS: (item) => item.permissions.join(' ') || '–',
          CREATED: (item) => item.created_at,
        })
      }),
    )

  for (const [verb, move, now, text] of [
    ['permit', permit, 'has', 'give a principal a permission that capabilities may demand'],
    ['withdraw', withdraw, 'no longer has', 'take a permission back from a principal'],
  ] as const) {
    withTenant(principal.command(`${verb} <id> <permission>`))
      .description(text)
      .action((id: string, permission: string, options: CommonOptions) =>
        asAdministrator(io, options, async (ambit, caller) => {
          const changed = await move(ambit, caller, id, permission)
          options.json ? printJson(io, changed) : line(io, `\`${id}\` ${now} the permission ${quote(permission)}`)
        }),
      )
  }

  withTenant(principal.command('rotate <id>'))
    .description('give the principal one new API key and end all its others')
    .action((id: string, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) =>
        printIssued(io, options, await renewKeys(ambit, caller, id)),
      ),
    )

  withTenant(principal.command('revoke <id>'))
    .description('end a principal: none of its keys is accepted any more')
    .action((id: string, options: CommonOptions) =>
      asAdministrator(io, options, async (ambit, caller) => {
        const changed = await revokePrincipal(ambit, caller, id)
        options.json ? printJson(io, changed) : line(io, `\`${id}\` is revoked`)
      }),
    )
}
export default register
