import type { Json } from '../../base/canonical.ts'
import { sha256 } from '../../base/hash.ts'
import { formatTime } from '../../base/time.ts'
import { formatTraceparent } from '../../base/trace.ts'
import { defaultBudget } from '../../compile/envelope.ts'
import { type CompileFacts, type CompileScope, snapshotOf } from '../../compile/facts.ts'
import { covers } from '../../grants/cover.ts'
import type { CompileReport } from '../../model/run.ts'
import { type PromptAnswer, promptText } from '../../resources/bind.ts'
import { agentIntent } from '../../runs/agent-pack.ts'
import type { LlmDefinition } from '../../runs/definition.ts'
import { buildPrompt, type Prompt, type PromptTexts, sourcesOf } from '../../runs/prompt.ts'
import { asText } from '../../runs/template.ts'
import { factsAt } from '../../storage/tables/runs/facts.ts'
import { estimator, measure } from '../contract/measure.ts'
import { offeredTools, packOf } from './agent-pack.ts'
import { readBuckets, readConversation } from './conversation.ts'
import { RunEnd } from './endings.ts'
import { factsFor } from './resource.ts'
import { beginInjection } from './spans.ts'
import { agentUrnOf, type RunNode } from './tree.ts'

/** What a model is told first. A run that goes on is told what it was told at its start, unless that is not granted any more. */
export async function gatherPrompt(node: RunNode): Promise<Prompt> {
  const kept = await storedFacts(node)
  const { facts, warnings } = kept ?? (await gatherFacts(node))
  const prompt = buildPrompt(packOf(node), facts, { scope: scopeOf(node), measure })
  const body = JSON.stringify(facts)
  const report = reportOf(prompt, sha256(body))
  const all = kept === undefined ? [...warnings, ...prompt.warnings] : warnings
  const { record } = node
  const known = record.warnings.map(({ message }) => message)
  const added = all.filter(({ message }) => !known.includes(message))
  node.record = { ...record, compiled: report, warnings: [...record.warnings, ...added] }
  if (kept === undefined) note(node, { facts, body, report, warnings: all })
  return prompt
}

interface Gathered {
  readonly facts: CompileFacts
  readonly warnings: Prompt['warnings']
}

async function storedFacts(node: RunNode): Promise<Gathered | undefined> {
  const { record, tree } = node
  const said = tree.journal.eventsOf(record.run_id).findLast(({ type }) => type === 'compile.done')
  if (said === undefined) return undefined
  const { store, tenant } = tree.host.deps
  const body = await store.read(() => factsAt(tenant, tree.rootId, said.event_id))
  if (body === undefined || sha256(body) !== said.data['facts_hash']) return undefined
  const facts = JSON.parse(body) as CompileFacts
  const live = tree.authority.liveGrants(node)
  const isGranted = (path: string): boolean => live.some((grant) => covers(grant.path, path))
  if (!facts.sources.every(({ paths = [] }) => paths.every(isGranted))) return undefined
  // Its end adds to the conversation as it is now.
  await readConversation(node, node.agent.definition as LlmDefinition)
  return { facts, warnings: said.data['warnings'] as unknown as Prompt['warnings'] }
}

/** The conversation, the buckets, then what providers say, in the order of the manifest. */
async function gatherFacts(node: RunNode): Promise<Gathered> {
  const { record, tree, span } = node
  const agent = node.agent.definition as LlmDefinition
  const history = await readConversation(node, agent)
  const scratchpad = await readBuckets(node)
  const { provided, warnings } = await askProviders(node)
  const sources = sourcesOf(agent, { provided, scratchpad, history })
  const about = { evidence: [], sources }
  const facts: CompileFacts = {
    ...{ now: formatTime(tree.host.deps.clock.now()), estimator, snapshot_version: snapshotOf(about), ...about },
    fence_seed: tree.root.fenceSeed,
    request: { request_id: record.request_id ?? record.run_id, intent: agentIntent, message: asText(record.input) },
    trace: { traceparent: formatTraceparent(span.place) },
    ...{ capabilities: offeredTools(node), consents: [] },
  }
  return { facts, warnings }
}

function scopeOf({ record }: RunNode): CompileScope {
  const { run_id, root_run_id, parent_run_id, tenant_id, session_id, agent_id, subject, grants, depth } = record
  return {
    ...{ run_id, tenant_id, intent: agentIntent, safety_mode: 'destructive', run_budget: defaultBudget },
    ...(session_id !== null && { session_id }),
    user: { user_id: subject.id },
    agent: { agent_id, agent_urn: agentUrnOf(record) },
    metadata: {
      ambit: {
        ...{ grants, ceilings: record.ceilings, root_run_id, depth, minted_at: record.started_at },
        ...(parent_run_id !== null && { parent_run_id }),
        ...{ profile: 'strict', claim_state: 'issued', safety_strict: false, clamps: [] },
      },
    },
  }
}

function reportOf({ compiled }: Prompt, facts_hash: string): CompileReport {
  const { budget_report, context_ledger } = compiled
  const { refs, content_hash, omissions } = context_ledger.ambit
  const { compiled_context_hash } = context_ledger
  return { refs, facts_hash, content_hash, compiled_context_hash, budget_report, omissions }
}

interface Noted {
  readonly facts: CompileFacts
  readonly body: string
  readonly report: CompileReport
  readonly warnings: Prompt['warnings']
}

/** Keeps what the run was compiled from, with the event that says what came of it. */
function note({ record, tree }: RunNode, { facts, body, report, warnings }: Noted): void {
  const { facts_hash, content_hash, compiled_context_hash, budget_report } = report
  const paths = [...new Set(facts.sources.flatMap((source) => source.paths ?? []))]
  const tokens = budget_report.tokens_used_by_bucket
  const said = { tokens, warnings: warnings as unknown as Json, facts_hash, content_hash, compiled_context_hash }
  tree.journal.note(record.run_id, 'compile.done', said, { body, paths })
}

async function askProviders(node: RunNode): Promise<Pick<PromptTexts, 'provided'> & { warnings: Prompt['warnings'] }> {
  const {
    tree,
    ending,
    resolved: { agents, resources },
    span: { place },
  } = node
  const asked = resources
    .map((resource) => ({ resource, provider: agents.providerOf(resource.kind) }))
    .filter(({ resource, provider }) => provider.prompt && resource.effective !== 'none' && resource.paths.length > 0)
  const provided: PromptTexts['provided'][number][] = []
  const warnings: Prompt['warnings'][number][] = []
  for (const { resource: declared, provider } of asked) {
    const { name: resource, kind, required } = declared
    const span = beginInjection(node, declared)
    let paths: readonly string[] = []
    const ask = async (): Promise<PromptAnswer> => {
      paths = tree.authority.pathsFor(node, declared)
      const facts = await factsFor(node, declared, { grants: paths, toolCallId: null, signal: ending.signal, place })
      const answer = await promptText(provider, facts)
      // What has ended meanwhile, in whichever process, is not shown: it is asked again under what is left.
      await tree.authority.endRevoked()
      return tree.authority.pathsFor(node, declared).length < paths.length ? ask() : answer
    }
    const said = await ask()
    span.end({}, 'warning' in said ? said.warning : undefined)
    if (!('warning' in said)) {
      const { text = '' } = said
      provided.push({ resource, kind, text, paths, ...(provider.bucket && { bucket: provider.bucket }) })
    } else if (required)
      throw new RunEnd(said.warning, `the text of resource \`${resource}\` is required, and could not be had`)
    else warnings.push({ code: said.warning, message: `resource \`${resource}\` was left out of the prompt` })
  }
  return { provided, warnings }
}
