import { randomBytes } from 'node:crypto'
import { canonical, type Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { escapedKey } from '../../base/pointer.ts'
import { formatTime } from '../../base/time.ts'
import { formatTraceparent } from '../../base/trace.ts'
import {
  type CompileFacts,
  type OfferedCapability,
  type Source,
  snapshotOf,
  summarySources,
} from '../../compile/facts.ts'
import { hostTier } from '../../compile/tiers.ts'
import { type Registered, standingOf } from '../../gateway/registry.ts'
import type { EvidenceFact } from '../../model/contract/compiled.ts'
import { isCallable, keyScope } from '../../policy/gates/checks.ts'
import { plainName } from '../../runs/agents.ts'
import { findEntries } from '../../storage/entries/entry-index.ts'
import { sessionWindow } from '../../storage/tables/runs/sessions.ts'
import { openKnowledge } from '../knowledge/knowledge.ts'
import type { OperationContext } from '../operations/context.ts'
import type { Entered } from './entry.ts'
import { estimator } from './measure.ts'

/** Everything a compile reads beside the packs, of one moment. `seed` makes the fences of two compiles alike. */
export async function gatherFacts(by: OperationContext, entered: Entered, seed?: string): Promise<CompileFacts> {
  const { ambit } = by
  const { request } = entered
  const now = formatTime(ambit.clock.now())
  const { trace, input } = request
  const { current } = await by.host()
  const sources = await Promise.all([
    knowledgeSources(by, entered),
    memorySources(by, entered),
    historySources(by, entered),
    attachmentSources(entered),
    businessSources(entered),
  ])
  const parent = { traceId: trace.trace_id, spanId: trace.span_id, sampled: trace.trace_flags !== '00' }
  const { tracestate, baggage } = trace
  const evidence = evidenceIn(entered, now)
  return {
    ...{ now, estimator, snapshot_version: snapshotOf({ evidence, sources: sources.flat() }) },
    fence_seed: seed ?? randomBytes(16).toString('hex'),
    request: { ...input, request_id: request.request_id },
    trace: { traceparent: formatTraceparent(parent), ...(tracestate && { tracestate }), ...(baggage && { baggage }) },
    capabilities: current()
      .registry.all()
      .filter(({ inRuns }) => !inRuns)
      .map((each) => offeredTo(by, each)),
    evidence,
    consents: [],
    sources: sources.flat(),
  }
}

/** A key that is for some capabilities alone has the others hidden from its runs. */
function offeredTo({ caller }: OperationContext, registered: Registered): OfferedCapability {
  const { descriptor, digest } = registered
  const { id } = descriptor
  const available = isCallable(standingOf(registered).lifecycle)
  const isForIt = keyScope({ capabilityId: id, scopes: caller.scopes }) === undefined
  const hidden = isForIt ? undefined : ('not_exposed' as const)
  return { capability_id: id, tool: plainName(id), digest, available, tier: hostTier(descriptor), hidden }
}

function evidenceIn({ request, context, attachments }: Entered, now: string): readonly EvidenceFact[] {
  const fact = (evidence_ref: string, value: Json, authority: EvidenceFact['authority']): EvidenceFact => ({
    ...{ evidence_ref, value, authority, tenant_id: context.tenant_id, observed_at: now, hash: objectHash(value) },
  })
  const asked = Object.entries(request.input.context ?? {})
  return [
    ...asked.map(([key, value]) => ({
      ...fact(`request:${request.request_id}#/input/context/${escapedKey(key)}`, value, 'asserted'),
      key,
    })),
    ...attachments.map(({ record: { artifact_id, sha256, media_type } }) => ({
      ...fact(`attachment:${artifact_id}`, { sha256, media_type }, 'verified'),
      bytes_hash: sha256,
    })),
  ]
}

/** What knowledge packs say to the message, each in its own fence already. */
async function knowledgeSources(
  { ambit }: OperationContext,
  { request, context }: Entered,
): Promise<readonly Source[]> {
  const { roots, ...rest } = ambit.settings.knowledge
  const grants = context.metadata.ambit.grants.map(({ path }) => path)
  if (roots === undefined) return []
  const view = openKnowledge({ ...rest, roots }).under(grants)
  const { blocks } = await view.resolve({ query: request.input.message })
  return blocks.map(({ id: block_id, bucket, priority, text, refs }) => ({
    ...{ block_id, bucket, priority, text, refs, fenced: 'already' as const },
  }))
}

/** What is remembered at the granted paths, newest first. */
async function memorySources({ ambit, caller }: OperationContext, { context }: Entered): Promise<readonly Source[]> {
  const grants = context.metadata.ambit.grants
  const areas = grants.map(({ path }) => ({ scope: path, below: false }))
  if (areas.length === 0) return []
  const search = { areas, nowMs: ambit.clock.now() }
  const { items } = await ambit.store.read(() =>
    findEntries(caller.tenant, 'memory', search, { limit: limits.memoryReadMax }),
  )
  return items.map(({ entry_id, content, topics }, index) => ({
    ...{ block_id: entry_id, bucket: 'memory', priority: 80 - index, text: content, refs: [`memory:${entry_id}#1`] },
    fenced: { origin: 'memory', name: topics.join(', ') },
    memory: { tenant_id: caller.tenant, covered: true, promoted: true },
  }))
}

/** Earlier messages of the session, the newest with the highest priority. */
async function historySources({ ambit, caller }: OperationContext, { context }: Entered): Promise<readonly Source[]> {
  const { session_id: sessionId } = context
  if (sessionId === undefined) return []
  const agentId = context.agent.agent_id
  const { messages, last } = await ambit.store.read(() =>
    sessionWindow(caller.tenant, { agentId, sessionId }, limits.sessionMessagesMax),
  )
  return messages.map(({ role, content }, index) => {
    const number = last - messages.length + 1 + index
    return {
      ...{ block_id: `message:${number}`, bucket: 'session', priority: index, text: content },
      refs: [`session:${sessionId}#${number}`],
      fenced: { origin: 'message', name: role },
    }
  })
}

/** Attachments that are text. Of others a model is told only that they are there. */
const attachmentSources = ({ attachments }: Entered): readonly Source[] =>
  attachments
    .filter(({ record }) => /^(?:text\/|application\/(?:json|yaml))/.test(record.media_type))
    .map(({ record: { artifact_id, name }, bytes }) => ({
      ...{ block_id: `attachment:${artifact_id}`, bucket: 'evidence', priority: 70, splittable: true },
      text: Buffer.from(bytes).toString().toWellFormed(),
      refs: [`attachment:${artifact_id}`],
      fenced: { origin: 'attachment', name: name ?? artifact_id },
    }))

function businessSources({ request, ready }: Entered): readonly Source[] {
  const { context } = request.input
  const facts: Source[] =
    context === undefined
      ? []
      : [
          {
            ...{ block_id: 'request:context', bucket: 'business', priority: 80, text: canonical(context) },
            refs: [`request:${request.request_id}#/input/context`],
            fenced: { origin: 'message', name: 'facts of the request' },
          },
        ]
  return [...summarySources(ready.packs.packs), ...facts]
}
