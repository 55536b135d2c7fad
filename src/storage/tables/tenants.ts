import { Failure, quote } from '../../base/failure.ts'
import type { Tenant } from '../../model/identity/tenant.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { type Page, type PageOptions, pageBy } from '../page.ts'
import { tenants } from '../schema.ts'
import { type Change, row, sql, type Work } from '../work.ts'
import { bodyOf } from './records.ts'

/** Adds a tenant. Its id and its host id must both be new. */
export const addTenant = (record: Tenant): Change<void> =>
  function* (tenant) {
    const taken = yield* row('SELECT tenant_id FROM tenants WHERE tenant_id = ? OR host_id = ?', tenant, record.host_id)
    if (taken !== undefined)
      throw new Failure('tenant.exists', `tenant ${quote(tenant)} or its host id exists already`, { id: tenant })
    yield [{ into: tenants, rows: [[tenant, record.host_id, JSON.stringify(record)]] }]
  }

/** Replaces the tenant's record by what `next` makes of it. The host id stays. */
export const amendTenant = (next: (record: Tenant) => Tenant): Change<Tenant> =>
  function* (tenant) {
    const record = next(yield* getTenant(tenant, ' FOR UPDATE'))
    yield [sql('UPDATE tenants SET body = ? WHERE tenant_id = ?', JSON.stringify(record), tenant)]
    return record
  }

/** The tenant, or `tenant.not_found`. */
export function* getTenant(tenant: TenantId, lock = ''): Work<Tenant> {
  const found = yield* findTenant(tenant, lock)
  if (found === undefined) throw noTenant(tenant)
  return found
}

/** The tenant, or undefined. */
export function* findTenant(tenant: TenantId, lock = ''): Work<Tenant | undefined> {
  const found = yield* row(`SELECT body FROM tenants WHERE tenant_id = ?${lock}`, tenant)
  return found && bodyOf<Tenant>(found)
}

/** All tenants in order of id: for the operator of the store, who stands above them. */
export function listTenants(options: PageOptions = {}): Work<Page<Tenant>> {
  const select = 'SELECT tenant_id, body FROM tenants WHERE tenant_id > ? ORDER BY tenant_id LIMIT ?'
  return pageBy('tenant_id', options, [select], bodyOf<Tenant>)
}

export const noTenant = (id: string): Failure =>
  new Failure('tenant.not_found', `tenant ${quote(id)} not found`, { id }, 'create it with `ambit tenant create`')
