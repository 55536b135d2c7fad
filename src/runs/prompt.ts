import type { Json } from '../base/canonical.ts'
import { quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { disarm } from '../fence/disarm.ts'
import { type Fenced, fence } from '../fence/fence.ts'
import type { RunError } from '../model/run.ts'
import { countTokens } from '../tokens/count.ts'
import type { LlmDefinition } from './definition.ts'
import { asText, renderText } from './template.ts'
import type { Message } from './turn.ts'

/** Tokens by bucket; together `limits.runPromptTokens`. */
export const defaultAllocation = {
  policy: 1_800,
  tool: 1_500,
  evidence: 3_500,
  memory: 1_500,
  business: 1_500,
  session: 2_200,
}
export type Allocation = Readonly<typeof defaultAllocation>
export type Bucket = keyof Allocation

export interface PromptFacts {
  readonly agent: LlmDefinition
  readonly input: Json
  /** What providers say, in the order of the manifest. */
  readonly provided: readonly {
    readonly resource: string
    readonly kind: string
    /** Without it `memory`. */
    readonly bucket?: Bucket
    readonly text: string
  }[]
  /** The buckets of `contextIds`, in the order given; entries oldest first. */
  readonly scratchpad: readonly { readonly contextId: string; readonly entries: readonly ScratchpadEntry[] }[]
  /** Of the session, oldest first. */
  readonly history: readonly { readonly role: 'user' | 'assistant'; readonly content: string }[]
  /** The fence seed of the run. */
  readonly seed: Uint8Array
  readonly allocation?: Allocation
  readonly count?: (text: string) => number
}

interface ScratchpadEntry {
  readonly agentId: string
  readonly createdAt: string
  readonly content: string
}

export interface Prompt {
  readonly system: string
  readonly messages: readonly Message[]
  /** One for each bucket that was too small. */
  readonly warnings: readonly RunError[]
  readonly used: Allocation
}

/**
 * What a model is told first. Instruction and input are always in it, charged to `policy` and `session`; whatever else
 * does not fit its bucket whole is left out, of messages and of the scratchpad what is older. All text that is not of the manifest is disarmed, and fenced unless it is a
 * message.
 */
export function buildPrompt(facts: PromptFacts): Prompt {
  const { agent, input, seed, allocation = defaultAllocation, count = countTokens } = facts
  const instruction = disarm(renderText(agent.instruction, { input })).text
  const request = disarm(asText(input)).text
  const budget = openBudget(allocation, { policy: count(instruction), session: count(request) })
  const fenced = blocksOf(facts).flatMap((block) => fenceNewest(block, budget, { seed, count }))
  const history = newest(windowOf(agent, facts.history), (content) =>
    budget.admit('session', count(content), 'earlier messages'),
  )
  return {
    system: [instruction, ...fenced].filter((part) => part !== '').join('\n\n'),
    messages: [...history, { role: 'user', content: request }],
    warnings: budget.warnings(),
    used: budget.used,
  }
}

const blocksOf = ({ provided, scratchpad }: PromptFacts) =>
  [
    ...provided.map(({ resource, kind, bucket = 'memory', text }) => {
      return { bucket, origin: 'resource', name: `${resource} of kind ${kind}`, texts: [text] } as const
    }),
    ...scratchpad.map(({ contextId, entries }) => {
      const texts = entries.slice(-limits.scratchpadEntriesShownMax).map(writeEntry)
      return { bucket: 'session', origin: 'scratchpad', name: contextId, texts } as const
    }),
  ].filter(({ texts }) => texts.some((text) => text.trim() !== ''))

/** As many of the newest texts of a block as have room together, in one fence. */
function fenceNewest(
  { texts, ...block }: ReturnType<typeof blocksOf>[number],
  budget: ReturnType<typeof openBudget>,
  { seed, count }: { readonly seed: Uint8Array; readonly count: (text: string) => number },
): readonly string[] {
  const { bucket, name } = block
  let from = texts.length
  for (let room = budget.room(bucket); from > 0; from--) {
    room -= count(texts[from - 1] ?? '')
    if (room < 0) break
  }
  for (; from < texts.length; from++) {
    const made = fence({ element: 'ambit_data', ...block, text: texts.slice(from).join('\n\n'), seed })
    const tokens = tokensOf(made, count)
    if (tokens > budget.room(bucket)) continue
    if (from > 0) budget.leaveOut(bucket, `${from} older entries of ${quote(name)}`)
    budget.admit(bucket, tokens, quote(name))
    return [made.text]
  }
  budget.leaveOut(bucket, quote(name))
  return []
}

const writeEntry = ({ agentId, createdAt, content }: ScratchpadEntry): string => `${agentId}, ${createdAt}:\n${content}`

/** Of the boundary, which is different in each run, only its length counts: a run chooses as another on the same facts. */
const tokensOf = ({ text, boundary }: Fenced, count: (text: string) => number): number =>
  count(text.replaceAll(boundary, '')) + 2 * boundary.length

function windowOf({ manifest }: LlmDefinition, history: PromptFacts['history']): PromptFacts['history'] {
  const { strategy = 'window', maxMessages = limits.sessionMessagesMax } = manifest.session ?? {}
  return strategy === 'none' ? [] : history.slice(Math.max(history.length - maxMessages, 0))
}

/** The newest messages that fit, without a gap, from a message of the user on. */
function newest(history: PromptFacts['history'], fits: (content: string) => boolean): readonly Message[] {
  const kept: Message[] = []
  for (const { role, content } of history.toReversed()) {
    const text = disarm(content).text
    if (!fits(text)) break
    kept.unshift(role === 'user' ? { role, content: text } : { role, content: text, calls: [] })
  }
  while (kept[0]?.role === 'assistant') kept.shift()
  return kept
}

function openBudget(allocation: Allocation, charged: Partial<Allocation>) {
  const used = { policy: 0, tool: 0, evidence: 0, memory: 0, business: 0, session: 0, ...charged }
  const leftOut = new Map<Bucket, string[]>()
  const room = (bucket: Bucket): number => allocation[bucket] - used[bucket]
  const leaveOut = (bucket: Bucket, what: string): void =>
    void leftOut.set(bucket, [...(leftOut.get(bucket) ?? []), what])
  return {
    used,
    room,
    leaveOut,
    admit(bucket: Bucket, tokens: number, what: string): boolean {
      const fits = tokens <= room(bucket)
      if (fits) used[bucket] += tokens
      else leaveOut(bucket, what)
      return fits
    },
    warnings: (): readonly RunError[] =>
      [...leftOut].map(([bucket, what]) => ({
        code: 'prompt_truncated',
        message: `bucket \`${bucket}\` has no room for ${what.join(', ')}`,
      })),
  }
}
