import type { Json } from '../../base/canonical.ts'
import { objectHash } from '../../base/hash.ts'
import { type PromptAnswer, promptText } from '../../resources/bind.ts'
import type { LlmDefinition } from '../../runs/definition.ts'
import { buildPrompt, type Prompt, type PromptFacts } from '../../runs/prompt.ts'
import { makeTokenCounter } from '../../tokens/count.ts'
import { readBuckets, readConversation } from './conversation.ts'
import { RunEnd } from './endings.ts'
import { factsFor } from './resource.ts'
import { beginInjection } from './spans.ts'
import type { RunNode } from './tree.ts'

// Instructions and earlier messages come again in every run.
const counter = makeTokenCounter({ entriesMax: 1_024 })

/** What a model is told first: the conversation, the buckets, then what providers say, in the order of the manifest. */
export async function gatherPrompt(node: RunNode): Promise<Prompt> {
  const { record, tree } = node
  const { seed } = tree
  const agent = node.agent.definition as LlmDefinition
  const history = await readConversation(node, agent)
  const scratchpad = await readBuckets(node)
  const { provided, warnings } = await askProviders(node)
  const prompt = buildPrompt({ agent, input: record.input, provided, scratchpad, history, seed, count: counter.count })
  node.record = { ...record, warnings: [...record.warnings, ...warnings, ...prompt.warnings] }
  if (!tree.journal.eventsOf(record.run_id).some(({ type }) => type === 'compile.done'))
    tree.journal.note(record.run_id, 'compile.done', {
      tokens: { ...prompt.used },
      warnings: [...warnings, ...prompt.warnings] as unknown as Json,
      prompt_hash: objectHash({ system: prompt.system, messages: prompt.messages } as unknown as Json),
    })
  return prompt
}

async function askProviders(node: RunNode): Promise<Pick<PromptFacts, 'provided'> & { warnings: Prompt['warnings'] }> {
  const {
    tree,
    ending,
    resolved: { agents, resources },
    span: { place },
  } = node
  const asked = resources
    .map((resource) => ({ resource, provider: agents.providerOf(resource.kind) }))
    .filter(({ resource, provider }) => provider.prompt && resource.effective !== 'none' && resource.paths.length > 0)
  const provided: PromptFacts['provided'][number][] = []
  const warnings: Prompt['warnings'][number][] = []
  for (const { resource: declared, provider } of asked) {
    const { name: resource, kind, required } = declared
    const span = beginInjection(node, declared)
    const ask = async (): Promise<PromptAnswer> => {
      const grants = tree.authority.pathsFor(node, declared)
      const facts = await factsFor(node, declared, { grants, toolCallId: null, signal: ending.signal, place })
      const answer = await promptText(provider, facts)
      // What has ended meanwhile, in whichever process, is not shown: it is asked again under what is left.
      await tree.authority.endRevoked()
      return tree.authority.pathsFor(node, declared).length < grants.length ? ask() : answer
    }
    const said = await ask()
    span.end({}, 'warning' in said ? said.warning : undefined)
    if (!('warning' in said)) {
      const { text = '' } = said
      provided.push({ resource, kind, text, ...(provider.bucket && { bucket: provider.bucket }) })
    } else if (required)
      throw new RunEnd(said.warning, `the text of resource \`${resource}\` is required, and could not be had`)
    else warnings.push({ code: said.warning, message: `resource \`${resource}\` was left out of the prompt` })
  }
  return { provided, warnings }
}
