import type { Json } from '../base/canonical.ts'
import { limits } from '../base/limits.ts'
import type { CallError, Denial } from '../model/wire/denial.ts'
import type { InvocationResult } from '../model/wire/result.ts'
import type { Remembered } from '../policy/history.ts'
import type { Call } from './call.ts'

/** What is kept of a finished call, to answer a repeat with: the result, and the chunks of a stream if they are few. */
export interface Recorded {
  readonly result: InvocationResult
  readonly chunks?: readonly Json[]
  /** There were chunks, and too many to be kept. */
  readonly isCut?: true
  /** What enters the history of a caller that reads the result; missing for a call that never began. */
  readonly carries?: Remembered
}

export interface Ending {
  readonly outcome: InvocationResult['outcome']
  readonly data?: Json
  readonly error?: CallError
  readonly denial?: Denial | undefined
}

type Called = Pick<Call, 'invocationId' | 'capabilityId' | 'correlation'>

export const resultOf = (
  { call, version }: { readonly call: Called; readonly version: string | null },
  { outcome, data = null, error, denial }: Ending,
  at: { readonly evidenceIds: readonly string[]; readonly startedAt: string | null; readonly completedAt: string },
): InvocationResult => ({
  invocation_id: call.invocationId,
  capability_id: call.capabilityId,
  capability_version: version,
  correlation: call.correlation,
  ...{ outcome, success: outcome === 'success', data, error: error ?? null, denial: denial ?? null },
  evidence_ids: [...at.evidenceIds],
  started_at: at.startedAt,
  completed_at: at.completedAt,
})

/** The recorded result as text; chunks and data beyond what is kept are left out, and a repeat says so. */
export function recordText({ result, chunks = [], carries, isCut }: Recorded): string {
  const whole = JSON.stringify({ result, carries, isCut, ...(chunks.length > 0 && { chunks }) })
  if (whole.length <= limits.recordedBytesMax) return whole
  const small = JSON.stringify({ result, carries, isCut: isCut ?? (chunks.length > 0 ? true : undefined) })
  if (small.length <= limits.recordedBytesMax) return small
  const error: CallError = {
    type: 'ResultTooLarge',
    code: 'result_not_kept',
    message: 'the call succeeded; its data was too large to keep',
    effect: 'done',
  }
  return JSON.stringify({ carries, result: { ...result, data: null, error } })
}

export const readRecord = (text: string): Recorded => JSON.parse(text) as Recorded

export const replayed = (result: InvocationResult): InvocationResult => ({ ...result, replayed: true })
