import { defined } from '../../base/object.ts'
import { tenantId } from '../../model/identity/tenant-id.ts'
import { operationGroup } from '../operation-command.ts'
import { type CommonOptions, inStore, opened, withStore } from '../session.ts'
import { line, printJson, type Register } from '../terminal/io.ts'
import { several } from '../terminal/options.ts'
import { printColumns } from '../terminal/table.ts'

export default ((tenant, io) => {
  withStore(tenant.command('create <id>'))
    .description('make a tenant with a signing key of its own, and the key of its first administrator')
    .option('--name <text>', 'a name for people')
    .option('--root <path>', 'a namespace path its grants must lie under; may be given several times', several)
    .option('--host <id>', 'the host id it signs under (default: the tenant id)')
    .action((id: string, options: CommonOptions & { name?: string; root?: string[]; host?: string }) =>
      opened(io, { ...options, create: true }, async (ambit) => {
        const { name, root: roots, host: hostId } = options
        const { makeTenant, printTenant } = await import('./new-tenant.ts')
        const { storeAdministrator } = await import('./who-asks.ts')
        const { subject } = await storeAdministrator(ambit, io)
        const made = await makeTenant(ambit, defined({ id: tenantId(id), name, roots, hostId }), subject)
        if (options.json) return printJson(io, made)
        printTenant(io, made)
        const named = id === ambit.settings.tenant ? '' : ` --tenant ${id}`
        line(io, `next: \`ambit principal create <id>${named}\`, then \`ambit key create <id>${named}\``)
      }),
    )

  withStore(tenant.command('add-root <id> <path...>'))
    .description('let a tenant grant further namespace paths, from its next run on')
    .action((id: string, roots: string[], options: CommonOptions) =>
      opened(io, options, async (ambit) => {
        const { addRoots } = await import('../../runtime/identity/tenants.ts')
        const { storeAdministrator } = await import('./who-asks.ts')
        const caller = { ...(await storeAdministrator(ambit, io)), tenant: tenantId(id) }
        const made = await addRoots(ambit, caller, roots)
        if (options.json) return printJson(io, made)
        line(io, `tenant \`${id}\` may grant paths under ${made.roots.join(', ')}`)
      }),
    )

  withStore(tenant.command('list'))
    .description('all tenants of this store')
    .action((options: CommonOptions) =>
      inStore(io, options, async (ambit) => {
        const { everyTenant } = await import('../../runtime/identity/tenants.ts')
        const tenants = await everyTenant(ambit)
        if (options.json) return printJson(io, { tenants })
        printColumns(io, tenants, 'none yet: `ambit tenant create local` makes one', {
          TENANT: (item) => item.tenant_id,
          STATUS: (item) => item.status,
          HOST: (item) => item.host_id,
          ROOTS: (item) => item.roots.join(' ') || '–',
          CREATED: (item) => item.created_at,
        })
      }),
    )
  operations(tenant, io)
}) satisfies Register

const operations = operationGroup('tenants', {
  identity: {},
  rotate: {
    input: { revoke: ['--revoke-old', 'list the old key as no longer to be believed: others may have it'] },
    print: (io, { new_key_id, old_key_id, new_public_key }, { input: { id } }) => {
      line(io, `tenant \`${id}\` now signs with ${new_key_id}; ${old_key_id} vouched for it and is gone`)
      line(io, `new public key: ${new_public_key}`)
    },
  },
  revoke: { print: (io, { tenant_id, status }) => line(io, `tenant \`${tenant_id}\` is ${status}`) },
  resume: { print: (io, { tenant_id, status }) => line(io, `tenant \`${tenant_id}\` is ${status}`) },
})
