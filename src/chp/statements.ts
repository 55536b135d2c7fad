import { canonical } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { sha256 } from '../base/hash.ts'
import { limits } from '../base/limits.ts'
import { formatTime } from '../base/time.ts'
import { asJson } from '../evidence/json.ts'
import { isTrusted, verifyRevocation } from '../evidence/statements/mandate.ts'
import { didOf } from '../evidence/statements/sshsig.ts'
import { isPinned, type Pins } from '../evidence/statements/statement.ts'
import { revocationHead, storeHead, verifyAnchor, verifyWitness } from '../evidence/statements/witness.ts'
import type { ChainWitness, StoreHeadAnchor } from '../model/wire/statement.ts'
import type { AnchorReceipt, RevocationList, RevocationReceipt, StoreHead, WitnessReceipt } from '../model/wire/wire.ts'
import type { AmbitHost } from '../runtime/hosting/host.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { allPages, type PageOptions } from '../storage/page.ts'
import { chainTails, lastSequence } from '../storage/tables/events.ts'
import { addStatement, listStatements, revokedMandates, type StoredStatement } from '../storage/tables/statements.ts'

type Named = Pick<AmbitHost, 'tenant' | 'hostId'>

/** The head of the store as it is now, for a witness to countersign. */
export async function headOf(ambit: Runtime, host: Named): Promise<StoreHead> {
  const { revoked } = await ambit.keyring.publicKeys(host.hostId)
  const { sequence, tails, mandates } = await ambit.store.read(function* () {
    const sequence = yield* lastSequence(host.tenant)
    return { sequence, tails: yield* chainTails(host.tenant, sequence), mandates: yield* revokedMandates(host.tenant) }
  })
  return {
    host_id: host.hostId,
    scheme: 'chp-store-head-v1',
    sequence,
    store_head: storeHead(tails),
    revocation_head: revocationHead(mandates, revoked),
    at: formatTime(ambit.clock.now()),
  }
}

/** Keeps what a known witness says, if it is signed and says what we find ourselves when we count again. */
export async function keepWitness(ambit: Runtime, host: Named, input: unknown, known: Pins): Promise<WitnessReceipt> {
  const verified = verifyWitness(input)
  if (!verified.ok) throw new Failure('witness.invalid', `the witness is not good: ${verified.message}`)
  const { sequence, witness, revocation_head } = verified.value
  if (!isPinned(known, witness.public_key)) throw unknownWitness(witness.host_id)
  await checkHead(ambit, host, verified.value, 'witness.invalid')
  if (revocation_head !== undefined && revocation_head !== (await headOf(ambit, host)).revocation_head)
    throw new Failure('revocation.head_mismatch', 'what is revoked is not what the witness saw')
  await keep(ambit, host, 'witness', verified.value)
  return { accepted: true, sequence, witness: witness.host_id }
}

/** Keeps a countersigned head, under the same conditions. */
export async function keepAnchor(ambit: Runtime, host: Named, input: unknown, known: Pins): Promise<AnchorReceipt> {
  const verified = verifyAnchor(input)
  if (!verified.ok) throw new Failure('anchor.invalid', `the anchor is not good: ${verified.message}`)
  const { did } = verified.value.anchor
  if (known !== 'any' && !known.values().some((key) => didOf(key) === did)) throw unknownWitness(did)
  await checkHead(ambit, host, verified.value, 'anchor.invalid')
  await keep(ambit, host, 'anchor', verified.value)
  return { accepted: true, sequence: verified.value.sequence, anchor_did: did }
}

/** Anybody can sign, and what is kept takes room. */
function unknownWitness(name: string): Failure {
  const help = 'add its public key to `host.witnesses` of the configuration, or use the key of an administrator'
  return new Failure('caller.not_permitted', `${quote(name)} is no witness that this host knows`, {}, help)
}

/** Keeps a revocation that verifies, if mandates of its principal count here: others would only be in the way. */
export async function keepRevocation(
  ambit: Runtime,
  host: Named & { readonly current: () => { readonly mandatePins: Pins } },
  input: unknown,
): Promise<RevocationReceipt> {
  const verified = verifyRevocation(input)
  if (!verified.ok) throw new Failure('revocation.invalid', `the revocation is not good: ${verified.message}`)
  const { mandate_id, principal } = verified.value
  if (!isTrusted(principal, host.current().mandatePins))
    throw new Failure('revocation.invalid', 'the revocation is from a principal whose mandates are not trusted here')
  await keep(ambit, host, 'revocation', verified.value)
  return { accepted: true, mandate_id, principal: principal.host_id }
}

/** One page of what others have said about heads. */
export async function statementsIn(ambit: Runtime, host: Named, kind: 'witness' | 'anchor', options: PageOptions) {
  const { items, ...next } = await ambit.store.read(() => listStatements(host.tenant, kind, options))
  return { items: items.map(({ body }) => JSON.parse(body) as ChainWitness | StoreHeadAnchor), ...next }
}

export async function revocationsOf(ambit: Runtime, host: Named): Promise<RevocationList> {
  const { revoked } = await ambit.keyring.publicKeys(host.hostId)
  return { keys: [...revoked], mandates: [...(await ambit.store.read(() => revokedMandates(host.tenant)))] }
}

async function checkHead(
  ambit: Runtime,
  host: Named,
  said: { readonly host_id: string; readonly sequence: number; readonly store_head: string },
  code: 'witness.invalid' | 'anchor.invalid',
): Promise<void> {
  if (said.host_id !== host.hostId) throw new Failure(code, 'the statement is about another host')
  const found = await ambit.store.read(function* () {
    const last = yield* lastSequence(host.tenant)
    return said.sequence > last ? undefined : yield* chainTails(host.tenant, said.sequence)
  })
  if (found === undefined || storeHead(found) !== said.store_head)
    throw new Failure('head.mismatch', `the head at event ${said.sequence} is not the one in the statement`)
}

/** The same statement twice is kept once. */
async function keep(ambit: Runtime, { tenant }: Named, kind: StoredStatement['kind'], said: object): Promise<void> {
  const body = canonical(asJson(said))
  const known = await ambit.store.read(() => allPages((options) => listStatements(tenant, kind, options)))
  if (known.length >= limits.statementsMax)
    throw new Failure('statement.limit', `at most ${limits.statementsMax} statements of one kind are kept`)
  await ambit.store.write(tenant, addStatement({ kind, id: sha256(body), body }))
}
