import { Failure, quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { formatTime } from '../../base/time.ts'
import type { KeyRotation } from '../../model/evidence.ts'
import type { Subject } from '../../model/identity/subject.ts'
import { type Tenant, tenant as tenantShape } from '../../model/identity/tenant.ts'
import { type TenantId, tenantId } from '../../model/identity/tenant-id.ts'
import { parseAs } from '../../model/parse.ts'
import type { IdentityDocument } from '../../model/wire/host.ts'
import { allPages } from '../../storage/page.ts'
import { eventsOf } from '../../storage/tables/events.ts'
import { addTenant, amendTenant, getTenant, listTenants } from '../../storage/tables/tenants.ts'
import { inOrder } from '../../storage/work.ts'
import { recordAs } from '../evidence/record.ts'
import type { Runtime } from '../runtime.ts'
import { adminEvent, administer, identityCorrelation, identityEvent, type Recordable } from './admin.ts'
import { draftKey } from './api-keys.ts'
import { type Caller, demand, operator } from './caller.ts'
import { draftPrincipal } from './principals.ts'

export interface NewTenant {
  readonly id: string
  readonly name?: string
  readonly roots?: readonly string[]
  /** The id under which this tenant signs; its own id unless said. */
  readonly hostId?: string
}

/** Makes a tenant: its own logical host with a signing key, a digest key and an empty chain. */
export const createTenant = (ambit: Runtime, wish: NewTenant): Promise<Tenant> => addTenantWith(ambit, wish, [])

/** As `createTenant`, with a principal `admin` and its key, all or nothing. The key is in the answer and nowhere else. */
export async function createTenantWithAdmin(ambit: Runtime, wish: NewTenant, by?: Subject) {
  const admin = draftPrincipal(ambit, { id: 'admin', kind: 'user', roles: ['admin'] })
  const key = draftKey(ambit, tenantId(wish.id), { principal: 'admin' })
  return { tenant: await addTenantWith(ambit, wish, [admin, key], by), issued: key.issued }
}

async function addTenantWith(ambit: Runtime, wish: NewTenant, more: readonly Recordable[], by?: Subject) {
  const made: Tenant = {
    tenant_id: wish.id,
    host_id: wish.hostId ?? wish.id,
    name: wish.name ?? wish.id,
    roots: [...(wish.roots ?? [])],
    status: 'active',
    created_at: formatTime(ambit.clock.now()),
  }
  const tenant = parseAs(tenantShape, made, 'tenant')
  const id = tenantId(tenant.tenant_id)
  const { keyId, publicKey } = await hostKey(ambit, tenant.host_id)
  const events = [
    identityEvent(tenant.host_id, 'key_generated', { key_id: keyId, public_key: publicKey }),
    adminEvent(tenant.host_id, 'ambit.tenant.created', { name: tenant.name, roots: tenant.roots }),
    ...more.map(({ type, payload }) => adminEvent(tenant.host_id, type, payload)),
  ]
  const added = inOrder(addTenant(tenant), ...more.map(({ change }) => change))
  await recordAs(ambit, { ...operator(id), ...(by && { subject: by }) }, tenant.host_id, events, added)
  return tenant
}

/** An existing key was made for a tenant whose creation then failed: it has signed nothing yet. */
const hostKey = (ambit: Runtime, hostId: string) =>
  ambit.keyring.create(hostId).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'key.exists') return ambit.keyring.publicKeys(hostId)
    throw error
  })

/** The caller's tenant, or `tenant.not_found`. */
export const tenantOf = (ambit: Pick<Runtime, 'store'>, caller: Pick<Caller, 'tenant'>): Promise<Tenant> =>
  ambit.store.read(() => getTenant(caller.tenant))

/** Every tenant of the store, in order of id. */
export const everyTenant = (ambit: Pick<Runtime, 'store'>): Promise<readonly Tenant[]> =>
  ambit.store.read(() => allPages(listTenants))

/** The tenant that was made first: its administrators change whole tenants. */
export async function firstTenant(ambit: Pick<Runtime, 'store'>): Promise<Tenant | undefined> {
  const [first] = (await everyTenant(ambit)).toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
  return first
}

export const suspendedTenant = (tenant: TenantId): Failure =>
  new Failure('tenant.suspended', `tenant ${quote(tenant)} is suspended`, {}, 'run `ambit tenant resume` to end that')

/** The public part of the tenant's keys. Empty members are left out. */
export async function identityOf(ambit: Runtime, caller: Caller): Promise<IdentityDocument> {
  const { host_id } = await tenantOf(ambit, caller)
  const { keys, identity } = await ambit.keyring.signing(host_id)
  const { keyId, publicKey, history, revoked } = keys
  return {
    assurance: 'signed',
    key_id: keyId,
    public_key: publicKey,
    host_identity: identity,
    ...(history.length > 0 && { key_history: [...history] }),
    ...(revoked.length > 0 && { revoked_keys: [...revoked] }),
  }
}

/**
 * Gives the tenant a new signing key. The old one signs it, so verifiers that trust the old one can follow. With
 * `revokeOld` the old key is listed as revoked: for a key that others may have.
 */
export async function rotateTenantKey(
  ambit: Runtime,
  caller: Caller,
  { revokeOld = false }: { readonly revokeOld?: boolean } = {},
): Promise<KeyRotation> {
  demand(caller, 'administer')
  const { host_id } = await tenantOf(ambit, caller)
  await recordRotations(ambit, caller, host_id)
  await ambit.heads.checkpoint(caller.tenant)
  const rotation = await ambit.keyring.rotate(host_id, { revokeOld })
  await recordRotations(ambit, caller, host_id)
  return rotation
}

/** Records what the key file has and evidence has not: a crash may have come between the two writes. */
async function recordRotations(ambit: Runtime, caller: Caller, hostId: string): Promise<void> {
  const correlation = identityCorrelation(hostId)
  const rows = await ambit.store.read(() => eventsOf(caller.tenant, correlation, 0, limits.replayEventsMax))
  const recorded = rows.map(({ body, eventType }) => {
    const { payload } = JSON.parse(body) as { payload: { new_key_id?: string; key_id?: string } }
    return `${eventType} ${payload.new_key_id ?? payload.key_id}`
  })
  const { history, revoked } = await ambit.keyring.publicKeys(hostId)
  const rotations = history
    .filter((step) => !recorded.includes(`key_rotated ${step.new_key_id}`))
    .map((step) => identityEvent(hostId, 'key_rotated', { ...step }))
  const revocations = revoked
    .filter((id) => !recorded.includes(`key_revoked ${id}`))
    .map((id) => identityEvent(hostId, 'key_revoked', { key_id: id }))
  const events = [...rotations, ...revocations]
  if (events.length > 0) await recordAs(ambit, caller, hostId, events)
}

/** Lets the tenant grant paths at and below these roots, too, from its next run on. */
export const addRoots = (ambit: Runtime, caller: Caller, roots: readonly string[]): Promise<Tenant> => {
  const change = amendTenant((tenant) =>
    parseAs(tenantShape, { ...tenant, roots: [...new Set([...tenant.roots, ...roots])] }, 'tenant'),
  )
  return administer(ambit, caller, 'ambit.tenant.roots_added', { roots: [...roots] }, change)
}

/** Suspends or resumes a tenant. While suspended, none of its keys is accepted; nothing is deleted. */
export async function setTenantStatus(ambit: Runtime, caller: Caller, status: Tenant['status']): Promise<Tenant> {
  const type = status === 'active' ? 'ambit.tenant.resumed' : 'ambit.tenant.suspended'
  const change = amendTenant((tenant) => ({ ...tenant, status }))
  return administer(ambit, caller, type, {}, change)
}
