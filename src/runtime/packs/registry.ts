import { unsafeNumber, unsafeNumberIn } from '../../base/amount.ts'
import { hashable, type Json } from '../../base/canonical.ts'
import { keyIdOf, verifySignature } from '../../base/ed25519.ts'
import { Failure, quote } from '../../base/failure.ts'
import { wireCode } from '../../base/failure-codes.ts'
import { objectHash, sha256 } from '../../base/hash.ts'
import { defined } from '../../base/object.ts'
import { type Recent, recent } from '../../base/recent.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import { version } from '../../base/version.ts'
import { type EndpointOf, type Unresolved, unresolvedIn } from '../../compile/bindings.ts'
import { type ReadyPacks, readyPacks } from '../../compile/compile.ts'
import type { LoadedRef } from '../../compile/facts.ts'
import { findSecretsIn } from '../../compile/lint.ts'
import { mergePacks } from '../../compile/merge.ts'
import { unreadableIn } from '../../compile/readable.ts'
import type { Registry } from '../../gateway/registry.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { PackRecord, PackReport } from '../../model/contract/registry.ts'
import { satisfies } from '../../policy/versions.ts'
import { packRecords } from '../../storage/tables/registry.ts'
import { administer } from '../identity/admin.ts'
import { type Caller, demand } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import { type PackDocument, readDocument, readRef, readRefs, refOf } from './read-pack.ts'

/** What a document is held against beside itself: versions that are published, and what is offered here. */
interface Beside {
  readonly beside?: readonly string[] | undefined
  readonly endpointOf?: EndpointOf
}

/** What there is to say of a document before it is published. */
export async function checkPack(ambit: Runtime, caller: Caller, value: unknown, given: Beside): Promise<PackReport> {
  const read = readDocument(value)
  const unread = { ref: null, hash: null, signed: false }
  if ('problems' in read) return { ...unread, problems: read.problems.map(onWire) }
  const { document } = read
  const unsafe = unsafeNumberIn(document)
  if (unsafe !== undefined) {
    const code = 'number.unsafe' as const
    return { ...unread, problems: [onWire({ pointer: unsafe, message: 'is a number that no hash takes', code })] }
  }
  const problems = await problemsIn(ambit, caller, document, given)
  const signed = document.signature !== undefined
  return { ref: refOf(document), hash: hashOf(document), signed, problems: problems.map(onWire) }
}

const onWire = ({ code = 'pack.binding_unresolved', ...problem }: Unresolved) => ({ ...problem, code: wireCode(code) })

/** Everything that is wrong with a document, each with its place. */
async function problemsIn(
  ambit: Runtime,
  caller: Caller,
  document: PackDocument,
  { beside = [], endpointOf }: Beside,
): Promise<readonly Unresolved[]> {
  const others = await Promise.all(beside.map((ref) => loadRef(ambit, caller, ref)))
  const refs = [loadedOf(document), ...others]
  return [
    ...tenantProblem(document, caller),
    ...incompatible(document, refs),
    ...unreadableIn(document),
    ...(document.signature === undefined ? [] : await signatureProblems(ambit, caller, document)),
    ...bindingProblems(document, refs, endpointOf),
    ...findSecretsIn(document as unknown as Json),
  ]
}

/** The document with the signature of the tenant's key over all else of it. */
export async function signPack(ambit: Runtime, caller: Caller, value: unknown): Promise<PackDocument> {
  demand(caller, 'administer')
  const document = documentOf(value)
  const { host_id } = await tenantOf(ambit, caller)
  const signer = await ambit.keyring.signer(host_id)
  const signature = {
    algorithm: 'ed25519' as const,
    key_id: signer.keyId,
    signature: signer.sign(signedText(document)),
  }
  return { ...document, signature }
}

/** Publishes a signed document for good: its version never means anything else. The same again changes nothing. */
export async function publishPack(ambit: Runtime, caller: Caller, value: unknown, given: Beside): Promise<PackRecord> {
  demand(caller, 'administer')
  const document = documentOf(value)
  const ref = refOf(document)
  const known = await ambit.store.read(() => packRecords.find(caller.tenant, ref))
  const hash = hashOf(document)
  if (known?.hash === hash) return known
  if (known !== undefined) {
    const help = 'publish the change as another version'
    throw new Failure('pack.exists', `${quote(ref)} is published with other content`, { ref }, help)
  }
  if (document.signature === undefined) {
    const help = 'sign it with `ambit pack sign`'
    throw new Failure('pack.signature_invalid', `${quote(ref)} is not signed`, { ref }, help)
  }
  refuseFirst(await problemsIn(ambit, caller, document, given), ref)
  const record: PackRecord = {
    ...{ ref, kind: readRef(ref, '').kind, hash, document },
    published_at: formatTime(ambit.clock.now()),
    published_by: caller.subject.id,
  }
  await administer(ambit, caller, 'ambit.pack.published', { ref, hash }, packRecords.add(record))
  return record
}

function refuseFirst([first]: readonly Unresolved[], ref?: string): void {
  if (first === undefined) return
  const { pointer, message, code = 'pack.binding_unresolved' } = first
  const where = ref === undefined ? '' : `${quote(ref)}: `
  throw new Failure(code, `${where}\`${pointer}\` ${message}`, defined({ ref, pointer }))
}

/** One version that is published here, held to everything that was true when it was published. */
async function loadRef(ambit: Runtime, caller: Caller, ref: string): Promise<LoadedRef> {
  const loaded = await loadAtAnyAge(ambit, caller, ref)
  const { document } = loaded
  const { created_at } = document.contract_meta
  const endsMs = (parseTime(created_at) ?? 0) + document.pack_meta.ttl_seconds * 1_000
  if (endsMs <= ambit.clock.now()) throw new Failure('pack.expired', `${quote(ref)} is past its time to live`, { ref })
  return loaded
}

/** The same of one that may be past its time to live: what was decided with it stays decided. */
async function loadAtAnyAge(ambit: Runtime, caller: Caller, ref: string): Promise<LoadedRef> {
  readRef(ref, '')
  const { document, hash } = await ambit.store.read(() => packRecords.get(caller.tenant, ref))
  if (hashOf(document) !== hash) throw new Failure('pack.signature_invalid', `${quote(ref)} was changed`, { ref })
  refuseFirst([...tenantProblem(document, caller), ...(await signatureProblems(ambit, caller, document))], ref)
  return loadedOf(document)
}

/** The packs that a run has pinned, each still what it was; else `replay.pack_unavailable`. */
export async function loadPinned(
  ambit: Runtime,
  caller: Caller,
  pinned: readonly { readonly ref: string; readonly hash: string }[],
): Promise<ReadyPacks> {
  const load = async ({ ref, hash }: (typeof pinned)[number]): Promise<LoadedRef> => {
    const loaded = await loadAtAnyAge(ambit, caller, ref).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error
      throw new Failure('replay.pack_unavailable', error.message, { ref, reason: wireCode(error.code) })
    })
    if (loaded.hash === hash) return loaded
    throw new Failure('replay.pack_unavailable', `${quote(ref)} is not the pack that was pinned`, { ref })
  }
  return readyPacks(await Promise.all(pinned.map(load)))
}

/** A pack to try out: a version that is published, or a document that need be neither published nor signed. */
export async function loadCandidate(
  ambit: Runtime,
  caller: Caller,
  { pack, document }: { readonly pack?: string | undefined; readonly document?: unknown },
): Promise<LoadedRef> {
  if ((pack === undefined) === (document === undefined))
    throw new Failure('field.invalid', 'name either `pack` or `document`', { pointer: '' })
  if (pack !== undefined) return loadAtAnyAge(ambit, caller, pack)
  const read = documentOf(document)
  refuseFirst([...tenantProblem(read, caller), ...unreadableIn(read)], refOf(read))
  return loadedOf(read)
}

/** The packs of a run with another version of one of them, held to each other as at the start of a run. */
export function withCandidate({ packs }: ReadyPacks, candidate: LoadedRef): ReadyPacks {
  const id = idOf(candidate.ref)
  const refs = packs.refs.map((each) => (idOf(each.ref) === id ? candidate : each))
  refuseFirst(refs.flatMap(({ document }) => incompatible(document, refs)))
  const ready = readyPacks(refs)
  refuseFirst(refs.flatMap(({ document }) => unresolvedIn(document, ready.packs)))
  return ready
}

/** The name of a pack in a ref. */
export const idOf = (ref: string): string => ref.split('@')[0] ?? ref

/** The packs of a request, ready to compile: each pinned, signed, in time, compatible, and bound in every edge. */
export async function loadPacks(
  ambit: Runtime,
  caller: Caller,
  refs: readonly string[],
  endpointOf: EndpointOf,
): Promise<ReadyPacks> {
  const known = knownTo(ambit)
  const key = JSON.stringify([caller.tenant, readRefs(refs)])
  const ready = known.get(key) ?? (await readPacks(ambit, caller, refs))
  known.set(key, ready)
  for (const { ref, document } of ready.packs.refs) demandInTime(ambit, ref, document)
  refuseFirst(ready.packs.refs.flatMap(({ document }) => unresolvedIn(document, ready.packs, endpointOf)))
  return ready
}

async function readPacks(ambit: Runtime, caller: Caller, refs: readonly string[]): Promise<ReadyPacks> {
  const loaded = await Promise.all(refs.map((ref) => loadRef(ambit, caller, ref)))
  refuseFirst(loaded.flatMap(({ document }) => incompatible(document, loaded)))
  return readyPacks(loaded)
}

/** What was published never changes: signatures are verified and rules compiled once in a process. */
function knownTo(ambit: Runtime): Recent<string, ReadyPacks> {
  const known = knownPacks.get(ambit) ?? recent(packsKeptMin)
  knownPacks.set(ambit, known)
  return known
}

const knownPacks = new WeakMap<Runtime, Recent<string, ReadyPacks>>()
const packsKeptMin = 64

function demandInTime({ clock }: Runtime, ref: string, { contract_meta, pack_meta }: PackDocument): void {
  const endsMs = (parseTime(contract_meta.created_at) ?? 0) + pack_meta.ttl_seconds * 1_000
  if (endsMs <= clock.now()) throw new Failure('pack.expired', `${quote(ref)} is past its time to live`, { ref })
}

function documentOf(value: unknown): PackDocument {
  const read = readDocument(value)
  if ('problems' in read) {
    refuseFirst(read.problems)
    throw new Failure('field.invalid', 'this is no pack', { pointer: '' })
  }
  const unsafe = unsafeNumberIn(read.document)
  if (unsafe !== undefined) throw unsafeNumber(unsafe)
  return read.document
}

const withoutSignature = ({ signature: _, ...rest }: PackDocument): Json => rest as unknown as Json
const hashOf = (document: PackDocument): string => objectHash(withoutSignature(document))
const signedText = (document: PackDocument): string => hashable(withoutSignature(document))

const loadedOf = (document: PackDocument): LoadedRef => {
  const named = { ref: refOf(document), hash: hashOf(document) }
  return 'decision_layer' in document ? { ...named, kind: 'pack', document } : { ...named, kind: 'catalog', document }
}

const tenantProblem = ({ pack_meta: { tenant } }: PackDocument, caller: Caller): readonly Unresolved[] =>
  tenant === caller.tenant
    ? []
    : [{ pointer: '/pack_meta/tenant', message: 'names another tenant', code: 'pack.tenant_mismatch' }]

/** What a document requires: of Ambit itself, and of the packs it is used with. */
function incompatible(document: PackDocument, refs: readonly LoadedRef[]): readonly Unresolved[] {
  const versions = new Map([['ambit', version], ...refs.map(({ ref }) => ref.split('@') as [string, string])])
  return Object.entries(document.contract_meta.compatibility.requires).flatMap(([name, range]) =>
    satisfies(versions.get(name) ?? '', range)
      ? []
      : [
          {
            pointer: `/contract_meta/compatibility/requires/${name}`,
            message: `needs ${quote(name)} ${quote(range)}, and there is ${quote(versions.get(name) ?? 'none')}`,
            code: 'pack.incompatible' as const,
          },
        ],
  )
}

/** Nothing more can be said of packs that contradict each other. */
function bindingProblems(
  document: PackDocument,
  refs: readonly LoadedRef[],
  endpointOf: EndpointOf | undefined,
): readonly Unresolved[] {
  try {
    return unresolvedIn(document, mergePacks(refs), endpointOf)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return [{ pointer: '', message: error.message, code: error.code }]
  }
}

async function signatureProblems(
  ambit: Runtime,
  caller: Caller,
  document: PackDocument,
): Promise<readonly Unresolved[]> {
  const { host_id } = await tenantOf(ambit, caller)
  const { key_id, signature } = document.signature ?? { key_id: '', signature: '' }
  const text = signedText(document)
  const known = JSON.stringify([host_id, key_id, signature, sha256(text)])
  const verified = verifiedBy.get(ambit.keyring) ?? recent<string, true>(1_024)
  verifiedBy.set(ambit.keyring, verified)
  if (verified.get(known)) return []
  const keys = everyKeyOf(await ambit.keyring.publicKeys(host_id))
  const key = keys.find((each) => keyIdOf(each) === key_id)
  if (key !== undefined && verifySignature(key, text, signature)) {
    verified.set(known, true)
    return []
  }
  return [{ pointer: '/signature', message: 'is not by a key of this tenant', code: 'pack.signature_invalid' }]
}

/** What stands behind the capabilities of an offer. */
export const endpointsOf =
  ({ versions, get }: Registry): EndpointOf =>
  (id) => {
    const version = versions(id).at(-1)
    const registered = version === undefined ? undefined : get(id, version)
    if (registered === undefined) return undefined
    // What an upstream offers begins with its name.
    return registered.descriptor.metadata?.origin === undefined ? 'host' : id.split('.')[0]
  }

/** Signatures that a keyring has found good. A key of a tenant stays one, so they stay good. */
const verifiedBy = new WeakMap<Runtime['keyring'], Recent<string, true>>()
