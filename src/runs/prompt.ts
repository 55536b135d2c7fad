import type { Json } from '../base/canonical.ts'
import { quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { Measure } from '../compile/buckets.ts'
import { type Compiled, compileChosen, type ReadyPacks } from '../compile/compile.ts'
import { type CompileFacts, type CompileScope, joinParts, type Part, type Source } from '../compile/facts.ts'
import { disarm } from '../fence/disarm.ts'
import type { CompiledContext, Omission } from '../model/contract/compiled.ts'
import type { Bucket } from '../model/contract/context.ts'
import type { RunError } from '../model/run-id.ts'
import type { LlmDefinition } from './definition.ts'
import { renderText } from './template.ts'
import type { Message } from './turn.ts'

/** What is read for a run of an agent before its first turn. */
export interface PromptTexts {
  /** What providers say, in the order of the manifest. */
  readonly provided: readonly {
    readonly resource: string
    readonly kind: string
    /** Without it `memory`. */
    readonly bucket?: Bucket
    readonly text: string
    /** The paths that it was read under. */
    readonly paths?: readonly string[]
  }[]
  /** The buckets of `contextIds`, in the order given; entries oldest first. */
  readonly scratchpad: readonly { readonly contextId: string; readonly entries: readonly ScratchpadEntry[] }[]
  /** Of the session, oldest first. */
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
}

interface ScratchpadEntry {
  readonly agentId: string
  readonly createdAt: string
  readonly content: string
}

/** What a model is told first. */
export interface Prompt {
  readonly system: string
  readonly messages: readonly Message[]
  /** One for each bucket that was too small. */
  readonly warnings: readonly RunError[]
  readonly compiled: CompiledContext
}

/** The instruction with the values of the input in it, which are disarmed with it. */
export const renderInstruction = ({ instruction }: LlmDefinition, input: Json): string =>
  disarm(renderText(instruction, { input })).text

/** Texts as sources of a compile. Those of providers come before buckets, and both before the conversation. */
export function sourcesOf(
  { manifest }: LlmDefinition,
  { provided, scratchpad, history }: PromptTexts,
): readonly Source[] {
  const { strategy = 'window', maxMessages = limits.sessionMessagesMax } = manifest.session ?? {}
  const shown = strategy === 'none' ? [] : history.slice(Math.max(history.length - maxMessages, 0))
  return [
    ...provided.map(({ resource, kind, bucket = 'memory', text, paths }, index): Source => {
      const fenced = { origin: 'resource', name: `${resource} of kind ${kind}` } as const
      const source = { block_id: `resource:${resource}`, bucket, priority: 90 - index, text, refs: [], fenced }
      return paths === undefined ? source : { ...source, paths }
    }),
    ...scratchpad.map(({ contextId, entries }, index) =>
      partsOf(
        { block_id: `scratchpad:${contextId}`, priority: 60 - index, origin: 'scratchpad', name: contextId },
        entries
          .slice(-limits.scratchpadEntriesShownMax)
          .map(({ agentId, createdAt, content }) => ({ text: `${agentId}, ${createdAt}:\n${content}` })),
      ),
    ),
    partsOf(
      { block_id: conversation, priority: 0, origin: 'message', name: 'earlier messages' },
      shown.map(({ role, content }) => ({ text: content, said_by: role })),
    ),
  ].filter(({ text }) => text.trim() !== '')
}

const conversation = 'conversation'

interface Named {
  readonly block_id: string
  readonly priority: number
  readonly origin: 'scratchpad' | 'message'
  readonly name: string
}

const partsOf = ({ block_id, priority, origin, name }: Named, parts: readonly Part[]): Source => ({
  ...{ block_id, bucket: 'session', priority, text: joinParts(parts), parts, refs: [], fenced: { origin, name } },
})

/**
 * What a model is told first, from one compile. Instruction and input are always in it: their buckets grow as they need.
 * Earlier messages are messages again, all else of others stands in the fence behind the instruction.
 */
export function buildPrompt(
  ready: ReadyPacks,
  facts: CompileFacts,
  { scope, measure }: { readonly scope: CompileScope; readonly measure: Measure },
): Prompt {
  const { compiled, chosen } = compileWithRoom(ready, facts, scope, measure)
  const { system, developer, task, context_blocks } = compiled.compiled_prompt
  const blocks = context_blocks.filter(({ block_id }) => block_id !== conversation).map(({ content }) => content)
  const history = chosen.find(({ source }) => source.block_id === conversation)
  const parts = history?.source.parts?.slice(-history.parts) ?? []
  return {
    system: [system, developer, ...blocks].filter((part) => part !== '').join('\n\n'),
    messages: [...fromUser(parts.map(messageOf)), { role: 'user', content: task }],
    warnings: warningsOf(compiled.context_ledger.ambit.omissions),
    compiled,
  }
}

/** Gives what is mandatory the room it needs. */
function compileWithRoom(...[ready, facts, scope, measure]: Parameters<typeof compileChosen>): Compiled {
  try {
    return compileChosen(ready, facts, scope, measure)
  } catch (error) {
    const { code, data } = error as { readonly code?: string; readonly data?: { readonly [name: string]: unknown } }
    if (code !== 'mandatory.block_over_budget') throw error
    const { total_tokens, bucket_tokens } = scope.run_budget
    const [bucket, tokens] = [data?.['bucket'] as Bucket, Number(data?.['tokens'])]
    const grown = { ...bucket_tokens, [bucket]: tokens }
    const more = total_tokens + tokens - bucket_tokens[bucket]
    const run_budget = { ...scope.run_budget, total_tokens: more, bucket_tokens: grown }
    return compileWithRoom(ready, facts, { ...scope, run_budget }, measure)
  }
}

function messageOf({ text, said_by = 'user' }: Part): Message {
  const content = disarm(text).text
  return said_by === 'user' ? { role: 'user', content } : { role: 'assistant', content, calls: [] }
}

const fromUser = (messages: readonly Message[]): readonly Message[] => {
  const first = messages.findIndex(({ role }) => role === 'user')
  return first < 0 ? [] : messages.slice(first)
}

const warningsOf = (omissions: readonly Omission[]): readonly RunError[] =>
  [...Map.groupBy(omissions, ({ bucket }) => bucket)].map(([bucket, left]) => ({
    code: 'prompt_truncated',
    message: `bucket \`${bucket}\` has no room for ${left.map(describe).join(', ')}`,
  }))

const describe = ({ block_id, reason }: Omission): string =>
  reason === 'cut' ? `the older part of ${quote(block_id)}` : quote(block_id)
