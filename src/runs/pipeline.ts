import { canonical, type Json } from '../base/canonical.ts'
import { Failure } from '../base/failure.ts'
import { wireCode } from '../base/failure-codes.ts'
import { limits } from '../base/limits.ts'
import { type GrantRequest, parseGrants } from '../grants/list.ts'
import type { RunError } from '../model/run-id.ts'
import { holds } from './condition.ts'
import type { PipelineDefinition, PipelineStep } from './definition.ts'
import { renderValue } from './template.ts'

/** How a step ended. `key` is that of its start. */
export type FinishedStep =
  | { readonly key: string; readonly output: Json }
  | { readonly key: string; readonly error: RunError }

/** A child run that is due. */
export interface StepStart {
  /** Names the step and its pass, and nothing else of this pipeline. */
  readonly key: string
  readonly agent: string
  readonly input: Json
  /** Suffixes for `narrowRequest`; undefined if the child inherits the grants as they are. */
  readonly narrow: readonly string[] | undefined
}

export type PipelineMove =
  | { readonly start: readonly StepStart[] }
  | { readonly done: Json }
  | { readonly failed: RunError }

/**
 * What a pipeline does next, from its input and the steps that have ended so far: the same answer whenever it is asked.
 * `start` names every step that is due and has not ended, those that are running too.
 */
export function nextSteps(pipeline: PipelineDefinition, input: Json, finished: readonly FinishedStep[]): PipelineMove {
  const ended = new Map(finished.toReversed().map((step) => [step.key, step]))
  try {
    return pipeline.kind === 'parallel' ? sideBySide(pipeline, input, ended) : oneByOne(pipeline, input, ended)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { failed: { code: wireCode(error.code), message: error.message } }
  }
}

/** The grants that a step with `narrow` asks for: each suffix below each live grant of its pipeline. */
export const narrowRequest = (live: readonly string[], suffixes: readonly string[]): readonly GrantRequest[] =>
  parseGrants(live.flatMap((path) => suffixes.map((suffix) => `${path}/${suffix}`)))

type Ended = ReadonlyMap<string, FinishedStep>
/** The input and, by their keys, the outputs: null for a step that was left out. */
type State = Record<string, Json>

const newState = (input: Json): State => Object.assign(Object.create(null), { input })

function oneByOne(pipeline: PipelineDefinition, input: Json, ended: Ended): PipelineMove {
  const state = newState(input)
  let last = input
  for (let pass = 1; pass <= pipeline.passesMax; pass++) {
    for (const step of pipeline.steps) {
      const taken = isDue(step, state) ? ended.get(keyOf(step, pass)) : null
      if (taken === undefined) return { start: [startOf(step, pass, checked(state), last)] }
      if (taken !== null && 'error' in taken) return { failed: taken.error }
      state[step.stateKey] = taken === null ? null : taken.output
      if (taken !== null) last = taken.output
    }
    if (pipeline.until === undefined || holds(pipeline.until, state)) return finish(pipeline, state, last)
  }
  throw new Failure('pipeline.iterations_exceeded', `no end after ${pipeline.passesMax} passes`)
}

function sideBySide(pipeline: PipelineDefinition, input: Json, ended: Ended): PipelineMove {
  const before = checked(newState(input))
  const open: StepStart[] = []
  const outputs: Record<string, Json> = {}
  for (const step of pipeline.steps) {
    const taken = isDue(step, before) ? ended.get(keyOf(step, 1)) : null
    if (taken === undefined) open.push(startOf(step, 1, before, input))
    else if (taken !== null && 'error' in taken) return { failed: taken.error }
    else outputs[step.stateKey] = taken === null ? null : taken.output
  }
  return open.length > 0 ? { start: open } : finish(pipeline, Object.assign(before, outputs), outputs)
}

const isDue = ({ when }: PipelineStep, state: State): boolean => when === undefined || holds(when, state)

const keyOf = ({ id }: PipelineStep, pass: number): string => `${pass}/${id}`

const startOf = (step: PipelineStep, pass: number, state: State, previous: Json): StepStart => ({
  key: keyOf(step, pass),
  agent: step.agent,
  input: step.input === undefined ? previous : renderValue(step.input, state),
  narrow: step.narrow,
})

function finish({ output }: PipelineDefinition, state: State, otherwise: Json): PipelineMove {
  const data = checked(state)
  return { done: output === undefined ? otherwise : renderValue(output, data) }
}

function checked(state: State): State {
  if (Buffer.byteLength(canonical(state)) > limits.stateBytesMax)
    throw new Failure('run.limit', `the state of the pipeline goes beyond ${limits.stateBytesMax} bytes`)
  return state
}
