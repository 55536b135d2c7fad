import { defined } from '../../base/object.ts'
import { everyTenant, identityOf, rotateTenantKey, setTenantStatus } from '../../runtime/identity/tenants.ts'
import { asAdministrator, type CommonOptions, changingTenant, inStore, inTenant, withStore } from '../session.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/several.ts'
import { printList } from '../terminal/table.ts'
import { makeTenant, printTenant } from './new-tenant.ts'

const register: Register = (tenant, io) => {
  withStore(tenant.command('create <id>'))
    .description('make a tenant with a signing key of its own, and the key of its first administrator')
    .option('--name <text>', 'a name for people')
    .option('--root <path>', 'a namespace path its grants must lie under; may be given several times', several)
    .option('--host <id>', 'the host id it signs under (default: the tenant id)')
    .action((id: string, options: CommonOptions & { name?: string; root?: string[]; host?: string }) =>
      changingTenant(io, id, { ...options, create: true }, async (ambit, caller) => {
        const { name, root: roots, host: hostId } = options
        const made = await makeTenant(ambit, defined({ id, name, roots, hostId }), caller.subject)
        if (options.json) return printJson(io, made)
        printTenant(io, made)
        const named = id === ambit.settings.tenant ? '' : ` --tenant ${id}`
        line(io, `next: \`ambit principal create <id>${named}\`, then \`ambit key create <id>${named}\``)
      }),
    )

  withStore(tenant.command('list'))
    .description('all tenants of this store')
    .action((options: CommonOptions) =>
      inStore(io, options, async (ambit) => {
        const items = await everyTenant(ambit)
        printList(io, options, items, 'none yet: `ambit tenant create local` makes one', {
          TENANT: (item) => item.tenant_id,
          STATUS: (item) => item.status,
          HOST: (item) => item.host_id,
          ROOTS: (item) => item.roots.join(' ') || '–',
          CREATED: (item) => item.created_at,
        })
      }),
    )

  withStore(tenant.command('identity <id>'))
    .description('the public identity document: key, attestation and past rotations, for those who verify')
    .action((id: string, options: CommonOptions) =>
      inTenant(io, { ...options, tenant: id }, async (ambit, caller) => {
        printJson(io, await identityOf(ambit, caller))
      }),
    )

  withStore(tenant.command('rotate <id>'))
    .description('give the tenant a new signing key; the old one vouches for it')
    .option('--revoke-old', 'list the old key as no longer to be believed: others may have it')
    .action((id: string, options: CommonOptions & { revokeOld?: boolean }) =>
      asAdministrator(io, { ...options, tenant: id }, async (ambit, caller) => {
        const rotation = await rotateTenantKey(ambit, caller, { revokeOld: options.revokeOld === true })
        if (options.json) return printJson(io, rotation)
        line(
          io,
          `tenant \`${id}\` now signs with ${rotation.new_key_id}; ${rotation.old_key_id} vouched for it and is gone`,
        )
        line(io, `new public key: ${rotation.new_public_key}`)
      }),
    )

  for (const [verb, status, text] of [
    ['revoke', 'suspended', 'suspend the tenant: none of its keys opens anything'],
    ['resume', 'active', 'let a suspended tenant work again'],
  ] as const) {
    withStore(tenant.command(`${verb} <id>`))
      .description(text)
      .action((id: string, options: CommonOptions) =>
        changingTenant(io, id, { ...options, suspended: status === 'active' }, async (ambit, caller) => {
          const changed = await setTenantStatus(ambit, caller, status)
          options.json ? printJson(io, changed) : line(io, `tenant \`${id}\` is ${status}`)
        }),
      )
  }
}
export default register
