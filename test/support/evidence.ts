import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { stable } from '../../src/base/canonical.ts'
import { keyIdOf, type Signer } from '../../src/base/ed25519.ts'
import { makeBundle } from '../../src/evidence/bundle.ts'
import { makeSeal } from '../../src/evidence/seal.ts'
import { didOf } from '../../src/evidence/statements/sshsig.ts'
import type { Signatory } from '../../src/evidence/statements/statement.ts'
import { identityStatement, rotationStatement } from '../../src/keys/signer.ts'
import type {
  AttemptRecord,
  EventDraft,
  EvidenceBundle,
  HostIdentity,
  KeyRotation,
  SealedEvent,
} from '../../src/model/evidence.ts'
import { sshSign } from './ssh-sign.ts'

const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A signer with a public test key; never trust one. A number stands for 32 times that byte. */
export function signerOf(seed: number | Uint8Array): Signer {
  const bytes = typeof seed === 'number' ? Buffer.alloc(32, seed) : seed
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, bytes]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(12).toString('base64')
  return {
    publicKey,
    keyId: keyIdOf(publicKey) ?? '',
    sign: (data) => sign(null, Buffer.from(data), key).toString('base64'),
  }
}

export const hostId = 'northlight-depot'
export const tenant = 'northlight'
export const hostKey = signerOf(1)
export const createdAt = '2026-06-16T18:00:00.000Z'

interface IdentityFields extends Window {
  readonly hostId: string
  readonly anchors?: NonNullable<HostIdentity['anchors']>
}

/** A host's claim to the signer's key, with an end and anchors, which our own claims do without. */
export function attest({ hostId, validFrom, validUntil, anchors = [] }: IdentityFields, signer: Signer): HostIdentity {
  const { signature: _, ...own } = identityStatement(signer, hostId, validFrom ?? '')
  const claim = { ...own, valid_from: validFrom, valid_until: validUntil, ...(anchors.length > 0 && { anchors }) }
  return { ...claim, signature: signer.sign(stable(claim as never)) }
}

/** The old key hands over to a new one. */
export const rotate = (next: Signer, rotatedAt: string, old: Signer): KeyRotation =>
  rotationStatement(old, next, rotatedAt)

/** Signs as a host of this name, with a claim to the key that is open at both ends unless said. */
export function signatory(name: string, seed: number, window: Partial<Window> = {}): Signatory {
  const signer = signerOf(seed)
  return { signer, identity: attest({ hostId: name, validFrom: null, validUntil: null, ...window }, signer) }
}

interface Window {
  readonly validFrom: string | null
  readonly validUntil: string | null
}

/** The host's identity, with an anchor that verifies and one of a type nobody knows. */
export function hostIdentity(): HostIdentity {
  const anchorKey = signerOf(9)
  const message = `{"chp_public_key": "${hostKey.publicKey}", "host_id": "${hostId}"}`
  return attest(
    {
      hostId,
      validFrom: '2026-01-01T00:00:00.000Z',
      validUntil: '2027-01-01T00:00:00.000Z',
      anchors: [
        {
          type: 'did',
          did: didOf(anchorKey.publicKey),
          countersignature: sshSign(anchorKey, 'chp-host-anchor', message),
        },
        { type: 'notice-board', where: 'the hall' },
      ],
    },
    hostKey,
  )
}

/** A plain draft of correlation `run-5521`; `fields` replace members. */
export const draft = (fields: Partial<EventDraft> = {}): EventDraft => ({
  event_id: 'evt_1',
  event_type: 'execution_started',
  invocation_id: 'inv_7Q2',
  capability_id: 'depot.release_batch',
  timestamp: '2026-06-16T15:00:00.000Z',
  outcome: null,
  correlation: { correlation_id: 'run-5521', causation_id: null, parent_correlation_id: null, trace_id: null },
  payload: {},
  subject: { id: 'stock-planner', type: 'api_key', verified: true, tenant },
  actor: { id: 'agent://stock-planner', type: 'agent' },
  capability_version: '2.1.0',
  denial: null,
  error: null,
  redacted: true,
  ...fields,
})

const record: AttemptRecord = {
  descriptor: `sha256:${'a'.repeat(64)}`,
  input: `hmac-sha256:${'b'.repeat(64)}`,
  context: [
    { name: 'batch_id', source: 'payload:/batch_id', state: 'present', sensitive: false, value: 'B-204417' },
    { name: 'minutes', source: 'payload:/minutes', state: 'present', sensitive: false, value: 14 },
    {
      name: 'consignee',
      source: 'payload:/consignee',
      state: 'present',
      sensitive: true,
      digest: `hmac-sha256:${'c'.repeat(64)}`,
    },
  ],
  policy: { name: 'quality_release', version: '3', hash: `sha256:${'d'.repeat(64)}`, state: 'approval_required' },
  basis: [{ gate: 6, rule: 'quality_release/excursion', effect: 'requires_approval', reads: ['minutes'] }],
  decision: 'requires_approval',
  approval: null,
}

const denial = {
  code: 'approval_required',
  message: 'quality_release must approve before execution',
  retryable: true,
  details: { policy: 'quality_release', wait_ratio: 0.5 },
}

/** The story of one call: asked, denied, granted, started, failed; and another that succeeded. */
export const storyDrafts = (): EventDraft[] => [
  draft({ event_id: 'evt_1', event_type: 'approval_requested', record, payload: { approval_id: 'apr_31' } }),
  draft({ event_id: 'evt_2', event_type: 'execution_denied', outcome: 'denied', denial, record, redacted: false }),
  draft({ event_id: 'evt_3', event_type: 'approval_granted', actor: null, subject: null, capability_version: null }),
  draft({ event_id: 'evt_4', payload: { zone: 'é', amount: '0.5', attempt: 2 }, assurance: 'S2' }),
  draft({
    event_id: 'evt_5',
    event_type: 'execution_failed',
    outcome: 'failure',
    error: { type: 'TimeoutError', message: 'no answer', effect: 'unknown' },
  }),
  draft({
    event_id: 'evt_6',
    invocation_id: 'inv_8',
    event_type: 'execution_completed',
    outcome: 'success',
    timestamp: '2026-06-16T16:00:00.000Z',
    correlation: {
      correlation_id: 'run-5521',
      causation_id: 'inv_7Q2',
      environment: 'prod',
      baggage: { a: 1, b: 'x' },
    },
  }),
]

export const seal = makeSeal({ hostId, tenant })
export const start = { sequence: 0, tails: new Map<string, string>() } as const

export const sealFromStart = (drafts: readonly EventDraft[]): readonly SealedEvent[] => seal(drafts, start)

/** A signed, covered bundle of the story, as read from a file. The host had counted to 40 before it began. */
export function storyBundle(): EvidenceBundle {
  const events = seal(storyDrafts(), { ...start, sequence: 40 })
  return copyOf(makeBundle({ hostId, events, createdAt, asOfSequence: 50, identity: hostIdentity() }, hostKey))
}

/** What JSON makes of a value. */
export const copyOf = <T>(value: T): T => JSON.parse(JSON.stringify(value))

/** The root of a Merkle tree over texts, as RFC 6962 defines it. */
export const naiveRoot = (texts: readonly string[]): string => naiveRootBytes(texts).toString('hex')

function naiveRootBytes(texts: readonly string[]): Buffer {
  const hash = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest()
  const [only] = texts
  if (only === undefined) return hash()
  if (texts.length === 1) return hash(Buffer.of(0), Buffer.from(only))
  const split = 2 ** Math.ceil(Math.log2(texts.length) - 1)
  return hash(Buffer.of(1), naiveRootBytes(texts.slice(0, split)), naiveRootBytes(texts.slice(split)))
}
