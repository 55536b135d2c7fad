import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { grantPath } from './grant.ts'
import { capabilityId, form, line, prose } from './text.ts'

/** Of resources and kinds of providers. */
export const resourceName = form(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/u, 'a letter, then at most 31 letters, digits, _ and -')
export const agentId = form(
  /^[a-z][a-z0-9_-]{0,63}$/u,
  'a small letter, then at most 63 small letters, digits, _ and -',
)
export const agentVersion = form(/^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}$/u, 'a version such as `1.2.3`')
export const resourceMode = z.enum(['read', 'read-write'])
export const ceiling = z.enum(['none', 'read', 'read-write'])

/** What a manifest says of one resource. Keys that are not named here are the provider's, and reach it unchanged. */
export const resourceEntry = z.looseObject({
  kind: resourceName.optional().describe('The provider; without it the name of the resource.'),
  mode: resourceMode.optional().describe('Which tools may exist; without it the default of the provider, else `read`.'),
  expose: z
    .array(z.string())
    .optional()
    .describe("The provider's tools that the model of this agent sees; without it all that the mode allows."),
  delegate: ceiling.optional().describe('The highest mode that children may hold; without it the effective mode.'),
  namespace: z
    .union([grantPath, z.array(grantPath).max(limits.grantsMax)])
    .optional()
    .describe('Lowers the grants of this resource to these branches; never adds any.'),
  required: z
    .boolean()
    .optional()
    .describe('If true, a missing grant or failing prompt text fails the run instead of leaving the resource out.'),
  config: z.unknown().optional().describe('Handed to the provider unchanged, with all keys not named here.'),
})
export type ResourceEntry = z.infer<typeof resourceEntry>

const jsonSchema = z.record(z.string(), z.unknown())

const common = {
  id: agentId.describe('The name of the agent, and of its tool where another agent may call it.'),
  version: agentVersion.describe('Every run records it.'),
  description: prose.optional().describe('What a model is told that may call this agent as a tool.'),
  inputSchema: jsonSchema.optional().describe('A JSON Schema that the input of each run must satisfy.'),
  outputSchema: jsonSchema.optional().describe('A JSON Schema that the result of each run must satisfy.'),
}

const session = z.strictObject({
  maxMessages: z
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .describe(`How many messages of earlier runs are read at most; without it ${limits.sessionMessagesMax}.`),
  strategy: z.enum(['window', 'none']).optional().describe('`window` reads the newest, `none` reads nothing.'),
})

export const llmAgent = z.strictObject({
  ...common,
  kind: z.literal('llm').describe('A model that calls tools until it answers.'),
  instruction: z.string().max(100_000).describe('A template: what the model is told first.'),
  model: line.optional().describe('The name of a configured model; without it `default`.'),
  tools: z
    .array(capabilityId)
    .max(128)
    .optional()
    .describe('Capabilities, and other agents as `agent.<id>`, that the model may call.'),
  resources: z
    .record(resourceName, resourceEntry.describe('One use of one provider.'))
    .refine(
      (entries) => Object.keys(entries).length <= limits.resourcesMax,
      `must have at most ${limits.resourcesMax} members`,
    )
    .meta({ maxProperties: limits.resourcesMax })
    .optional()
    .describe('What the agent uses of providers, by a name of its own that begins the names of the tools.'),
  contextWrite: z
    .boolean()
    .optional()
    .describe('If true, the result of a completed run is added to each scratchpad bucket that the run was given.'),
  session: session.optional().describe('What the model sees of earlier runs of the same session.'),
})

/** Calls one capability with its input; in code an agent of this kind is a function instead. */
export const toolAgent = z.strictObject({
  ...common,
  kind: z.literal('tool').describe('One call of a capability.'),
  capability: capabilityId.optional().describe('It is called with the input of the run, and its data is the result.'),
})

const step = z.strictObject({
  id: form(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/u, 'a letter, then at most 63 letters, digits, _ and -').describe(
    'The name of the step within its pipeline.',
  ),
  ref: agentId.optional().describe('The agent that runs.'),
  agent: z.unknown().optional().describe('A whole manifest in place of `ref`.'),
  stateKey: form(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/u, 'a name of letters, digits and _')
    .optional()
    .describe('Where the state keeps its output; without it the id in camelCase.'),
  input: z.unknown().optional().describe('A template; without it the output of the step before.'),
  when: z.string().max(10_000).optional().describe('A condition; where it does not hold, the step is left out.'),
  narrow: z
    .array(grantPath)
    .max(limits.grantsMax)
    .optional()
    .describe('Suffixes put below every grant of the pipeline: the step gets these instead of the grants themselves.'),
})
export type Step = z.infer<typeof step>

const pipeline = {
  steps: z.array(step).min(1).max(64).describe('Each runs an agent as a child run.'),
  output: z.unknown().optional().describe('A template that makes the result from the state.'),
}

export const sequentialAgent = z.strictObject({
  ...common,
  kind: z.literal('sequential').describe('Steps one after another.'),
  ...pipeline,
  until: z
    .string()
    .max(10_000)
    .optional()
    .describe('A condition, tested after the last step: as long as it does not hold, the steps run again.'),
  maxIterations: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(`How often the steps run at most; without it ${limits.pipelineIterationsMax} times.`),
})

export const parallelAgent = z.strictObject({
  ...common,
  kind: z.literal('parallel').describe('Steps side by side.'),
  ...pipeline,
})

/** What an agent is, as a file says it. A key that is not known is refused by its name. */
export const agentManifest = z.discriminatedUnion('kind', [llmAgent, toolAgent, sequentialAgent, parallelAgent])

export type LlmAgent = z.infer<typeof llmAgent>
export type ToolAgent = z.infer<typeof toolAgent>
export type Pipeline = z.infer<typeof sequentialAgent> | z.infer<typeof parallelAgent>
