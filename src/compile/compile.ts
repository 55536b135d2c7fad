import { byUnit, type Json } from '../base/canonical.ts'
import { objectHash, sha256 } from '../base/hash.ts'
import { recent } from '../base/recent.ts'
import { disarm } from '../fence/disarm.ts'
import { fence } from '../fence/fence.ts'
import { type CompiledContext, type Omission, type StageName, stageNames } from '../model/contract/compiled.ts'
import { bucketNames } from '../model/contract/context.ts'
import type { Facts } from '../policy/conditions/values.ts'
import { admitEvidence, admitMemory } from './admit.ts'
import { type Chosen, type Filled, fillBuckets, type Measure, type Measured } from './buckets.ts'
import type { CompileFacts, CompileScope } from './facts.ts'
import { checkIntent } from './intent.ts'
import { type MergedPacks, mergePacks } from './merge.ts'
import { writePrompt } from './prompt.ts'
import { compilePackPolicy, controlsIn, type PackPolicy } from './rules.ts'
import { type Surfaced, surfaceTools, toolManifest } from './surface.ts'

/** Packs that were merged and whose rules were compiled: once for all runs that name them. */
export interface ReadyPacks {
  readonly packs: MergedPacks
  readonly policy: PackPolicy
}

export function readyPacks(refs: MergedPacks['refs']): ReadyPacks {
  const packs = mergePacks(refs)
  return { packs, policy: compilePackPolicy(packs) }
}

/** What a run is given, and the sources that it was made of. */
export interface Compiled {
  readonly compiled: CompiledContext
  readonly chosen: readonly Chosen[]
}

type Given = readonly [ready: ReadyPacks, facts: CompileFacts, scope: CompileScope, measure: Measure]

/** What a run is given, in eight stages. The same packs, facts and run context give the same bytes. */
export const compile = (...given: Given): CompiledContext => compileChosen(...given).compiled

/** The same, with the sources that were chosen. */
export function compileChosen(...[{ packs, policy }, facts, context, measure]: Given): Compiled {
  const hashes: Partial<Record<StageName, string>> = {}
  const stage = <T>(name: StageName, out: T, said: unknown = out): T => {
    hashes[name] = objectHash({ stage: name, out: said as Json })
    return out
  }
  const known = stage('intent', checkIntent(packs, facts))
  const read = rootsOf(facts, context)
  const controls = stage('policy', controlsIn(policy, read))
  const surfaced = surfaceTools({ packs, policy, context, offered: facts.capabilities, controls, facts: read })
  stage('tools', surfaced, { tools: surfaced.tools.map(({ id, tier }) => ({ id, ...tier })), hidden: surfaced.hidden })
  const evidence = stage('evidence', admitEvidence(context.tenant_id, facts))
  const memory = admitMemory(context.tenant_id, facts)
  const recalled = memory.items.filter((each) => each.memory !== undefined)
  stage('memory', memory, { ids: recalled.map(({ block_id }) => block_id), omissions: memory.omissions })
  const allocation = stage('budget', context.run_budget.bucket_tokens)
  const prompt = writePrompt({ packs, controls, surfaced, known, facts })
  const mandatory = [
    { bucket: 'policy' as const, text: prompt.system },
    { bucket: 'tool' as const, text: prompt.developer },
    { bucket: 'session' as const, text: prompt.task },
  ]
  const filled = fillBuckets(allocation, { mandatory, sources: memory.items, measure })
  const texts = mandatory.map(({ text }) => sha256(text))
  const blocks = filled.chosen.map(({ source, body }) => ({ id: source.block_id, body: sha256(body) }))
  stage('buckets', filled, { texts, blocks })
  const omissions = [...evidence.omissions, ...memory.omissions, ...filled.omissions]
  const made = assemble({ packs, facts, context, prompt, surfaced, controls, evidence, filled, omissions })
  const said = { ...made.manifests, trace_context: null, ...made.runtime_controls, ...made.budget_report }
  stage('manifests', made, said)
  const sealing = { packs, policy, facts, surfaced, omissions, hashes: hashes as Record<StageName, string> }
  return { compiled: seal(made, sealing), chosen: filled.chosen }
}

/** What rules read at compile. Arguments and evidence are not there yet. */
const rootsOf = (
  { request, now }: CompileFacts,
  { user, agent, safety_mode, tenant_id, intent }: CompileScope,
): Facts => ({
  run: { tenant_id, safety_mode, intent: intent ?? null },
  request: { ...request, context: request.context ?? {} } as Json,
  user: user as Json,
  agent: { agent_id: agent.agent_id, agent_urn: agent.agent_urn, role: agent.role ?? null },
  now,
})

const primaryRef = ({ refs }: MergedPacks): string => refs.find(({ kind }) => kind === 'pack')?.ref ?? ''

type Unsealed = Omit<CompiledContext, 'context_ledger'>

interface Parts {
  readonly packs: MergedPacks
  readonly facts: CompileFacts
  readonly context: CompileScope
  readonly prompt: Omit<CompiledContext['compiled_prompt'], 'context_blocks'>
  readonly surfaced: Surfaced
  readonly controls: CompiledContext['runtime_controls']
  readonly evidence: ReturnType<typeof admitEvidence>
  readonly filled: Filled
  readonly omissions: readonly Omission[]
}

function assemble(parts: Parts): Unsealed {
  const { facts, prompt, surfaced, controls, evidence, filled } = parts
  const seed = Buffer.from(facts.fence_seed, 'hex')
  return {
    compiled_prompt: { ...prompt, context_blocks: filled.chosen.map((each) => blockOf(each, seed)) },
    manifests: {
      policy_manifest: policyManifest(surfaced),
      tool_manifest: toolManifest(surfaced.tools),
      evidence_manifest: evidence.items.map(({ evidence_ref, hash, bytes_hash }) => ({
        evidence_ref,
        hash: bytes_hash ?? hash,
      })),
      trace_context: traceContext(parts),
    },
    runtime_controls: controls,
    budget_report: reportOf(parts),
  }
}

function blockOf({ source, body, truncated }: Chosen, seed: Uint8Array) {
  const { block_id, bucket, priority, refs, fenced } = source
  const own = { element: 'ambit_data', text: body, isDisarmed: true, seed } as const
  const content = fenced === 'already' ? body : fence({ ...own, ...fenced }).text
  const more = { ...(refs.length > 0 && { provenance_refs: [...refs] }), ...(truncated && { truncated }) }
  return { block_id, bucket, content, priority, ...more }
}

const policyManifest = ({ said }: Surfaced): CompiledContext['manifests']['policy_manifest'] =>
  [...Map.groupBy(said, ({ bundle }) => bundle)].map(([bundle_id, rules]) => ({
    bundle_id,
    rule_ids: rules.map(({ rule }) => rule),
  }))

function traceContext({ facts: { trace }, context, packs }: Parts): CompiledContext['manifests']['trace_context'] {
  const { tenant_id, session_id, run_id } = context
  const own = `tenant=${tenant_id},ctxpack=${primaryRef(packs)}`
  const baggage = [...(session_id === undefined ? [] : [`session_id=${session_id}`]), `run_id=${run_id}`].join(',')
  // Callers add no member with a name of ours.
  const others = (trace.baggage ?? '')
    .split(',')
    .filter((member) => member.trim() !== '' && !/^\s*(?:session_id|run_id|decision_id)\s*=/.test(member))
  return {
    traceparent: trace.traceparent,
    tracestate: trace.tracestate ? `${own},${trace.tracestate}` : own,
    baggage: [baggage, ...others].join(','),
  }
}

function reportOf({ context, filled: { used, omissions } }: Parts): CompiledContext['budget_report'] {
  const byBucket = Map.groupBy(omissions, ({ bucket }) => bucket)
  const touched = bucketNames.filter((bucket) => byBucket.has(bucket))
  const dropped = (bucket: (typeof touched)[number]): string[] =>
    (byBucket.get(bucket) ?? []).filter(({ reason }) => reason === 'over_budget').map(({ block_id }) => block_id)
  const withDropped = touched.filter((bucket) => dropped(bucket).length > 0)
  return {
    tokens_allocated: context.run_budget.bucket_tokens,
    tokens_used_at_compile: bucketNames.reduce((sum, bucket) => sum + used[bucket], 0),
    tokens_used_by_bucket: used,
    bucket_truncations: Object.fromEntries(touched.map((bucket) => [bucket, true as const])),
    dropped_block_ids: Object.fromEntries(withDropped.map((bucket) => [bucket, dropped(bucket)])),
    warnings: touched.map((bucket) => {
      const cut = (byBucket.get(bucket)?.length ?? 0) - dropped(bucket).length
      return `${bucket} bucket is full: ${dropped(bucket).length} blocks dropped, ${cut} cut`
    }),
  }
}

interface Sealing {
  readonly packs: MergedPacks
  readonly policy: PackPolicy
  readonly facts: CompileFacts
  readonly surfaced: Surfaced
  readonly omissions: readonly Omission[]
  readonly hashes: Record<StageName, string>
}

/** The ledger with the hash of all of it, and one hash more that leaves out what differs with every request. */
function seal(made: Unsealed, { packs, policy, facts, surfaced, omissions, hashes }: Sealing): CompiledContext {
  const { budget_report, manifests } = made
  const warnings = policy.skipped.map((rule) => ({ code: 'rule_skipped', message: `rule \`${rule}\` is no condition` }))
  const ledger = {
    pack_ref: primaryRef(packs),
    request_id: facts.request.request_id,
    policy_bundles: packs.bundles.map(({ bundle_id }) => bundle_id),
    tools: surfaced.tools.map(({ id }) => id).sort(byUnit),
    evidence_refs: manifests.evidence_manifest.map(({ evidence_ref }) => evidence_ref),
    memory_refs: made.compiled_prompt.context_blocks.flatMap(({ provenance_refs = [] }) =>
      provenance_refs.filter((ref) => ref.startsWith('memory:')),
    ),
    budget: {
      tokens_used_at_compile: budget_report.tokens_used_at_compile,
      truncated_buckets: bucketNames.filter((bucket) => budget_report.bucket_truncations[bucket]),
    },
    ambit: {
      refs: packs.refs.map(({ ref, hash }) => ({ ref, hash })),
      stage_hashes: hashes,
      hidden: surfaced.hidden,
      omissions: [...omissions],
      estimator: facts.estimator,
      snapshot_version: facts.snapshot_version,
      warnings,
    },
  }
  const plain = {
    ...made,
    manifests: { ...manifests, trace_context: null },
    context_ledger: { ...ledger, request_id: null },
  }
  const ambit = { ...ledger.ambit, content_hash: objectHash(plain as unknown as Json) }
  const whole = { ...made, context_ledger: { ...ledger, ambit } }
  const compiled_context_hash = objectHash(whole as unknown as Json)
  return { ...whole, context_ledger: { ...whole.context_ledger, compiled_context_hash } }
}

/** The first stage in which two compiles differ; undefined for equal ones. */
export const firstDifference = (a: CompiledContext, b: CompiledContext): StageName | undefined =>
  stageNames.find((name) => {
    const hashOf = ({ context_ledger }: CompiledContext) => context_ledger.ambit.stage_hashes[name]
    return hashOf(a) !== hashOf(b)
  })

/** Measures with a count of tokens. What a text is in a fence is worked out once, however often it is measured. */
export function measureWith(count: (text: string) => number, textsMin = 4_096): Measure {
  const known = recent<string, Measured>(textsMin)
  const measure = (text: string): Measured => {
    const key = sha256(text)
    const found = known.get(key)
    if (found !== undefined) return found
    const body = disarm(text).text
    const made = { body, tokens: count(body) }
    known.set(key, made)
    return made
  }
  return Object.assign(measure, { count })
}
