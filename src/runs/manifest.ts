import type { Json } from '../base/canonical.ts'
import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { isObject, type JsonObject } from '../base/object.ts'
import { copyEvent } from '../evidence/copy.ts'
import { faultOf } from '../grants/parse.ts'
import { agentManifest, type LlmAgent, type Pipeline, type ResourceEntry, type Step } from '../model/agent.ts'
import { type ParseProblem, tryParse } from '../model/parse.ts'
import { deepFreeze } from '../policy/contract.ts'
import { schemaFault } from '../policy/schema/schema.ts'
import { parseCondition } from './condition.ts'
import type {
  AgentDefinition,
  DeclaredResource,
  LlmDefinition,
  PipelineDefinition,
  PipelineStep,
} from './definition.ts'
import { below, invalidAt, type Place } from './place.ts'
import { parseText, parseValue } from './template.ts'

/** Reads a manifest; `where` names its file in messages. Fails with `manifest.invalid` or `template.invalid` and the place. */
export const readManifest = (value: unknown, where = ''): AgentDefinition =>
  deepFreeze(define(copyOf(value, where), { where, pointer: '' }))

function copyOf(value: unknown, where: string): unknown {
  try {
    return copyEvent(value, 'the manifest')
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure('manifest.invalid', where === '' ? error.message : `${where}: ${error.message}`, error.data)
  }
}

function define(value: unknown, at: Place): AgentDefinition {
  const read = tryParse(agentManifest, value)
  if (!read.ok) throw misfit(value, read.problem, at)
  const manifest = read.value
  for (const name of ['inputSchema', 'outputSchema'] as const) {
    const fault = manifest[name] && schemaFault(manifest[name] as JsonObject)
    if (fault !== undefined) throw invalidAt(below(at, name), fault)
  }
  if (manifest.kind === 'llm') return defineLlm(manifest, at)
  return manifest.kind === 'tool' ? { kind: 'tool', manifest } : definePipeline(manifest, at)
}

/** A key that agents of another kind have is known, and out of place. */
function misfit(value: unknown, problem: ParseProblem & { readonly help: string | undefined }, at: Place): Failure {
  const place = { ...at, pointer: at.pointer + problem.pointer }
  const key = problem.pointer.slice(1)
  const kinds = agentManifest.options
    .filter(({ shape }) => Object.hasOwn(shape, key))
    .map(({ shape }) => shape.kind.value)
  if (problem.code !== 'field.unknown' || kinds.length === 0) return invalidAt(place, problem.message, problem.help)
  const own = isObject(value) ? quote(String(value['kind'])) : ''
  return invalidAt(place, `is for agents of kind ${kinds.map(quote).join(' or ')}, and this one is of kind ${own}`)
}

const defineLlm = (manifest: LlmAgent, at: Place): LlmDefinition => ({
  kind: 'llm',
  manifest,
  instruction: parseText(manifest.instruction, below(at, 'instruction')),
  resources: Object.entries(manifest.resources ?? {}).map(([name, entry]) =>
    declareResource(name, entry, below(at, 'resources', name)),
  ),
})

function declareResource(name: string, entry: ResourceEntry, at: Place): DeclaredResource {
  const { kind = name, mode, expose, delegate, namespace, required = false, config, ...own } = entry
  const branches = typeof namespace === 'string' ? [namespace] : namespace
  checkPaths(branches, below(at, 'namespace'))
  return { name, kind, mode, expose, delegate, branches, required, config: joinConfig(config, own, at) }
}

function joinConfig(config: unknown, own: Readonly<Record<string, unknown>>, at: Place): Json | undefined {
  const [key] = Object.keys(own)
  if (key === undefined) return config as Json | undefined
  if (config !== undefined && !isObject(config))
    throw invalidAt(below(at, 'config'), `must be an object, as ${quote(key)} stands beside it`)
  const twice = Object.keys(own).find((name) => Object.hasOwn(config ?? {}, name))
  if (twice !== undefined) throw invalidAt(below(at, twice), 'stands in `config` as well')
  return { ...config, ...own } as Json
}

/** What the pattern of a path cannot see: bytes and the NFC form. */
function checkPaths(paths: readonly string[] = [], at: Place): void {
  for (const [index, path] of paths.entries()) {
    const fault = faultOf(path)
    if (fault !== undefined) throw invalidAt(below(at, index), `is not a valid path: ${fault.replaceAll('_', ' ')}`)
  }
}

function definePipeline(manifest: Pipeline, at: Place): PipelineDefinition {
  const { kind, output } = manifest
  const { until, maxIterations } = manifest.kind === 'sequential' ? manifest : {}
  const steps = manifest.steps.map((step, index) => defineStep(step, below(at, 'steps', index)))
  checkNames(steps, at)
  return {
    kind,
    manifest,
    steps,
    output: output === undefined ? undefined : parseValue(output as Json, below(at, 'output')),
    until: until === undefined ? undefined : parseCondition(until, below(at, 'until')),
    passesMax: maxIterations ?? limits.pipelineIterationsMax,
  }
}

function defineStep(step: Step, at: Place): PipelineStep {
  const { id, ref, input, when, narrow } = step
  checkPaths(narrow, below(at, 'narrow'))
  const inline = step.agent === undefined ? undefined : define(step.agent, below(at, 'agent'))
  const agent = ref ?? inline?.manifest.id
  if (agent === undefined || (ref && inline)) throw invalidAt(at, 'must have either `ref` or `agent`')
  return {
    id,
    stateKey: step.stateKey ?? camelCase(id),
    agent,
    inline,
    input: input === undefined ? undefined : parseValue(input as Json, below(at, 'input')),
    when: when === undefined ? undefined : parseCondition(when, below(at, 'when')),
    narrow,
  }
}

const camelCase = (id: string): string =>
  id
    .split(/[-_]+/)
    .filter((word) => word !== '')
    .map((word, index) => word.charAt(0)[index === 0 ? 'toLowerCase' : 'toUpperCase']() + word.slice(1))
    .join('')

/** Names that the state of a pipeline cannot have: one is the input, the other no reader of JSON takes. */
const reserved = ['input', '__proto__']

function checkNames(steps: readonly PipelineStep[], at: Place): void {
  for (const [index, { id, stateKey }] of steps.entries()) {
    const place = below(at, 'steps', index)
    const before = steps.slice(0, index)
    if (before.some((step) => step.id === id)) throw invalidAt(below(place, 'id'), `${quote(id)} stands twice`)
    if (reserved.includes(stateKey)) throw invalidAt(place, `its key in the state, ${quote(stateKey)}, is reserved`)
    if (before.some((step) => step.stateKey === stateKey))
      throw invalidAt(place, `its key in the state, ${quote(stateKey)}, stands twice`, 'give it another `stateKey`')
  }
}
