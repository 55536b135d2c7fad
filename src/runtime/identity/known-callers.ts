import { Failure } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { verifyToken } from '../../evidence/statements/token.ts'
import type { TenantId } from '../../model/identity/tenant-id.ts'
import { principalRecords } from '../../storage/tables/identities.ts'
import type { Runtime } from '../runtime.ts'
import { type Caller, verifiedCaller } from './caller.ts'

/** A caller that the configuration names, with the roles and permissions of its principal, unless that is revoked. */
export async function callerNamed(
  ambit: Runtime,
  tenant: TenantId,
  subject: { readonly id: string; readonly type: 'api_key' | 'token' },
  scopes: readonly string[] = [],
): Promise<Caller> {
  const principal = await ambit.store.read(() => principalRecords.find(tenant, subject.id))
  if (principal !== undefined && principal.status !== 'active') throw notAccepted()
  return verifiedCaller(subject, tenant, principal, scopes)
}

/** A caller whose tokens are accepted, and the one key that signs them. */
export interface TokenKey {
  readonly name: string
  readonly publicKey: string
}

/** The caller that signed this token: for this host, now, with the key that belongs to its name. */
export async function callerByToken(
  ambit: Runtime,
  { tenant, hostId }: { readonly tenant: TenantId; readonly hostId: string },
  text: string,
  known: readonly TokenKey[],
): Promise<Caller> {
  const verified = verifyToken(readToken(text), {
    at: ambit.clock.now(),
    audience: hostId,
    pins: new Set(known.map(({ publicKey }) => publicKey)),
  })
  if (!verified.ok) throw notAccepted()
  const { sub, caller } = verified.value
  if (!known.some(({ name, publicKey }) => name === sub && publicKey === caller.public_key)) throw notAccepted()
  return callerNamed(ambit, tenant, { id: sub, type: 'token' })
}

/** A token is JSON in its own header, and base64url of that as a bearer. */
function readToken(text: string): unknown {
  if (text.length > limits.headerCharsMax) throw notAccepted()
  try {
    return readJson(text.trimStart().startsWith('{') ? text : Buffer.from(text, 'base64url'))
  } catch {
    throw notAccepted()
  }
}

/** One refusal for every reason: it does not reveal which names and keys exist. */
export const notAccepted = (): Failure =>
  new Failure('unauthenticated', 'the credentials are not accepted', {}, 'send a current key or token for this host')
