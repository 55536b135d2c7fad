import { unsafeNumber, unsafeNumberIn } from '../../base/amount.ts'
import { hashable, type Json } from '../../base/canonical.ts'
import { keyIdOf, verifySignature } from '../../base/ed25519.ts'
import { Failure, quote } from '../../base/failure.ts'
import { objectHash } from '../../base/hash.ts'
import { formatTime, parseTime } from '../../base/time.ts'
import { version } from '../../base/version.ts'
import { type Unresolved, unresolvedIn } from '../../compile/bindings.ts'
import { type ReadyPacks, readyPacks } from '../../compile/compile.ts'
import type { LoadedRef } from '../../compile/facts.ts'
import { findSecretsIn } from '../../compile/lint.ts'
import { mergePacks } from '../../compile/merge.ts'
import { unreadableIn } from '../../compile/readable.ts'
import { everyKeyOf } from '../../keys/keyring.ts'
import type { PackRecord } from '../../model/contract/registry.ts'
import { satisfies } from '../../policy/versions.ts'
import { packRecords } from '../../storage/tables/registry.ts'
import { administer } from '../identity/admin.ts'
import { type Caller, demand } from '../identity/caller.ts'
import { tenantOf } from '../identity/tenants.ts'
import type { Runtime } from '../runtime.ts'
import { type PackDocument, readDocument, readRef, readRefs, refOf } from './read-pack.ts'

/** What there is to say of a document before it is published. */
export interface PackReport {
  readonly ref: string | null
  readonly hash: string | null
  readonly signed: boolean
  readonly problems: readonly Unresolved[]
}

/** Everything that is wrong with a document, each with its place, against what is published and offered here. */
export async function checkPack(
  ambit: Runtime,
  caller: Caller,
  value: unknown,
  { beside = [], isOffered }: { readonly beside?: readonly string[]; readonly isOffered?: (id: string) => boolean },
): Promise<PackReport> {
  const read = readDocument(value)
  const unread = { ref: null, hash: null, signed: false }
  if ('problems' in read) return { ...unread, problems: read.problems }
  const { document } = read
  const unsafe = unsafeNumberIn(document)
  if (unsafe !== undefined)
    return {
      ...unread,
      problems: [{ pointer: unsafe, message: 'is a number that no hash takes', code: 'number.unsafe' }],
    }
  const others = await Promise.all(beside.map((ref) => loadRef(ambit, caller, ref)))
  const refs = [loadedOf(document), ...others]
  const problems = [
    ...tenantProblem(document, caller),
    ...incompatible(document, refs),
    ...unreadableIn(document),
    ...(document.signature === undefined ? [] : await signatureProblems(ambit, caller, document)),
    ...bindingProblems(document, refs, isOffered),
    ...findSecretsIn(document as unknown as Json),
  ]
  return { ref: refOf(document), hash: hashOf(document), signed: document.signature !== undefined, problems }
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
export async function publishPack(
  ambit: Runtime,
  caller: Caller,
  value: unknown,
  options: { readonly beside?: readonly string[]; readonly isOffered?: (id: string) => boolean },
): Promise<PackRecord> {
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
  if (document.signature === undefined)
    throw new Failure(
      'pack.signature_invalid',
      `${quote(ref)} is not signed`,
      { ref },
      'sign it with `ambit pack sign`',
    )
  refuseFirst(await checkPack(ambit, caller, document, options), ref)
  const record: PackRecord = {
    ...{ ref, kind: readRef(ref, '').kind, hash, document },
    published_at: formatTime(ambit.clock.now()),
    published_by: caller.subject.id,
  }
  await administer(ambit, caller, 'ambit.pack.published', { ref, hash }, packRecords.add(record))
  return record
}

function refuseFirst({ problems }: PackReport, ref: string): void {
  const [first] = problems
  if (first === undefined) return
  const { pointer, message, code = 'pack.binding_unresolved' } = first
  throw new Failure(code, `${quote(ref)}: \`${pointer}\` ${message}`, { ref, pointer })
}

/** One version that is published here, held to everything that was true when it was published. */
async function loadRef(ambit: Runtime, caller: Caller, ref: string): Promise<LoadedRef> {
  readRef(ref, '')
  const { document, hash } = await ambit.store.read(() => packRecords.get(caller.tenant, ref))
  if (hashOf(document) !== hash) throw new Failure('pack.signature_invalid', `${quote(ref)} was changed`, { ref })
  const [wrong] = [...tenantProblem(document, caller), ...(await signatureProblems(ambit, caller, document))]
  if (wrong !== undefined)
    throw new Failure(wrong.code ?? 'pack.signature_invalid', `${quote(ref)}: ${wrong.message}`, { ref })
  const { created_at } = document.contract_meta
  const endsMs = (parseTime(created_at) ?? 0) + document.pack_meta.ttl_seconds * 1_000
  if (endsMs <= ambit.clock.now()) throw new Failure('pack.expired', `${quote(ref)} is past its time to live`, { ref })
  return loadedOf(document)
}

/** The packs of a request, ready to compile: each pinned, signed, in time, compatible, and bound in every edge. */
export async function loadPacks(
  ambit: Runtime,
  caller: Caller,
  refs: readonly string[],
  isOffered: (id: string) => boolean,
): Promise<ReadyPacks> {
  const loaded = await Promise.all(readRefs(refs).map((ref) => loadRef(ambit, caller, ref)))
  const [clash] = loaded.flatMap(({ document }) => incompatible(document, loaded))
  if (clash !== undefined) throw new Failure('pack.incompatible', clash.message, { pointer: clash.pointer })
  const ready = readyPacks(loaded)
  const [open] = loaded.flatMap(({ document }) => unresolvedIn(document, ready.packs, isOffered))
  if (open !== undefined)
    throw new Failure(open.code ?? 'pack.binding_unresolved', `\`${open.pointer}\` ${open.message}`, {
      pointer: open.pointer,
    })
  return ready
}

function documentOf(value: unknown): PackDocument {
  const read = readDocument(value)
  if ('document' in read) {
    const unsafe = unsafeNumberIn(read.document)
    if (unsafe !== undefined) throw unsafeNumber(unsafe)
    return read.document
  }
  const [{ pointer, message, code } = { pointer: '', message: 'is no pack', code: 'field.invalid' as const }] =
    read.problems
  throw new Failure(code, `\`${pointer}\` ${message}`, { pointer })
}

const hashOf = (document: PackDocument): string => {
  const { signature: _, ...rest } = document
  return objectHash(rest as unknown as Json)
}

const signedText = (document: PackDocument): string => {
  const { signature: _, ...rest } = document
  return hashable(rest as unknown as Json)
}

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
  isOffered: ((id: string) => boolean) | undefined,
): readonly Unresolved[] {
  try {
    return unresolvedIn(document, mergePacks(refs), isOffered)
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
  const keys = everyKeyOf(await ambit.keyring.publicKeys(host_id))
  const { key_id, signature } = document.signature ?? { key_id: '', signature: '' }
  const key = keys.find((each) => keyIdOf(each) === key_id)
  if (key !== undefined && verifySignature(key, signedText(document), signature)) return []
  return [{ pointer: '/signature', message: 'is not by a key of this tenant', code: 'pack.signature_invalid' }]
}
