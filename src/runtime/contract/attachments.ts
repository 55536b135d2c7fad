import { openEgress } from '../../adapters/egress/egress.ts'
import { Failure, quote } from '../../base/failure.ts'
import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import type { Attachment, InvokeRequest } from '../../model/contract/request.ts'
import { getBlob } from '../../storage/tables/blobs.ts'
import { artifactRecords } from '../../storage/tables/registry.ts'
import type { Caller } from '../identity/caller.ts'
import type { Runtime } from '../runtime.ts'
import { beginSpan } from '../trace.ts'

/** An attachment with bytes that have the hash it is named with. */
export interface OpenedAttachment {
  readonly record: {
    readonly artifact_id: string
    readonly media_type: string
    readonly sha256: string
    readonly name: string | null
  }
  readonly bytes: Uint8Array
}

/**
 * Opens the attachments of a request, each in a span with its hash. The bytes are those that the tenant registered, else
 * those at an `https` address; any other address is text and never opened.
 */
export async function openAttachments(
  ambit: Runtime,
  caller: Caller,
  { attachments = [], trace }: Pick<InvokeRequest, 'attachments' | 'trace'>,
): Promise<readonly OpenedAttachment[]> {
  const parent = { traceId: trace.trace_id, spanId: trace.span_id, sampled: trace.trace_flags !== '00' }
  const opened: OpenedAttachment[] = []
  for (const [index, attachment] of attachments.entries()) {
    const { artifact_id, sha256: digest } = attachment
    const span = beginSpan('open_attachment', parent, { attributes: { 'ambit.artifact.id': artifact_id } })
    try {
      opened.push(await openOne(ambit, caller, attachment, `/attachments/${index}`))
      span.end({ 'contextos.attachment.sha256': digest })
    } catch (error) {
      span.end({}, error instanceof Failure ? error.code : 'failed')
      throw error
    }
  }
  return opened
}

async function openOne(
  ambit: Runtime,
  { tenant }: Caller,
  attachment: Attachment,
  pointer: string,
): Promise<OpenedAttachment> {
  const { artifact_id, media_type, sha256: digest, uri } = attachment
  const refused = (code: 'forbidden' | 'hash_mismatch', why: string, help?: string): Failure =>
    new Failure(`attachment.${code}`, `artefact ${quote(artifact_id)} ${why}`, { pointer }, help)
  const held = await ambit.store.read(function* () {
    const record = yield* artifactRecords.find(tenant, artifact_id)
    if (record === undefined) return undefined
    if (record.sha256 !== digest) throw refused('hash_mismatch', 'has other bytes')
    return { record, bytes: yield* getBlob(tenant, digest) }
  })
  if (held !== undefined) return held
  const help = 'put it under the tenant with `ambit artifact add`'
  if (URL.parse(uri)?.protocol !== 'https:') throw refused('forbidden', "is not this tenant's", help)
  if (!/^[0-9a-f]{64}$/.test(digest)) throw refused('hash_mismatch', 'is named with no SHA-256 in hex')
  const bytes = await fetchBytes(ambit, uri).catch(() => {
    throw refused('forbidden', "is not this tenant's, and its address gives nothing that may be taken", help)
  })
  if (sha256(bytes) !== digest) throw refused('hash_mismatch', 'has other bytes')
  return { record: { artifact_id, media_type, sha256: digest, name: null }, bytes }
}

/** Through the way out of the host, within its list, and no more than an artefact may hold. */
async function fetchBytes({ settings }: Runtime, uri: string): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(limits.callTimeoutMs)
  const { status, body } = await openEgress(settings.hosting.egress).fetch(uri, { signal })
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of body ?? []) {
    size += part.byteLength
    if (status !== 200 || size > limits.blobBytesMax) break
    parts.push(part)
  }
  if (status !== 200 || size > limits.blobBytesMax) throw new Error('no bytes that could be taken')
  return Buffer.concat(parts)
}
