import { type FailureCode, statusOf, wireCode } from './failure-codes.ts'
import { limits } from './limits.ts'

export type FailureData = Readonly<Record<string, unknown>>

/**
 * A failure the caller can act on. `code` is stable, the message is not: lower case, names in backticks.
 * `data` holds named values and never a secret or a path of the host; `help` is one sentence that says what to do.
 */
export class Failure extends Error {
  readonly code: FailureCode
  readonly data: FailureData
  readonly help: string | undefined

  constructor(code: FailureCode, message: string, data: FailureData = {}, help?: string) {
    super(message)
    this.name = 'Failure'
    this.code = code
    this.data = data
    this.help = help
  }
}

/** What a door may say of an error: a failure of the caller as it is, trouble of ours in words that fit any. */
export function shown(error: unknown): Failure {
  if (!(error instanceof Failure)) return internal()
  const status = statusOf[error.code]
  if (status < 500 || ownTrouble.test(error.code)) return error
  if (status === 503)
    return error.data['outcome'] === 'unknown'
      ? new Failure(error.code, 'the store has not answered, and may have done it', {}, 'look before you repeat it')
      : new Failure(error.code, 'the store cannot take this now; nothing was done')
  return internal()
}

const internal = (): Failure => new Failure('internal', 'something went wrong inside')

/** Says what went wrong in words that are ours, and nothing of how we keep things. */
const ownTrouble = /^(?:overloaded|call\.in_progress|host\.closed|model\..+|resource\..+)$/

/** The body of every error answer of ours, an `application/problem+json` object. Other wires encode beside their doors. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  /** The place of what is wrong, and the rule that says so: those of `data`. */
  readonly pointer?: string
  readonly rule_id?: string
  readonly data?: FailureData
  readonly remediation?: string
  readonly trace_id?: string
}

/** Anything that is not a `Failure` is answered as `internal`, without its message, stack or class. */
export function problem(error: unknown, traceId?: string): Problem {
  const failure = error instanceof Failure ? error : internal()
  const code = wireCode(failure.code)
  const { pointer, rule_id } = failure.data
  return {
    type: `urn:ambit:problem:${code}`,
    title: code.replaceAll('_', ' '),
    status: statusOf[failure.code],
    code,
    detail: failure.message,
    ...(typeof pointer === 'string' && { pointer }),
    ...(typeof rule_id === 'string' && { rule_id }),
    ...(Object.keys(failure.data).length > 0 && { data: failure.data }),
    ...(failure.help !== undefined && { remediation: failure.help }),
    ...(traceId !== undefined && { trace_id: traceId }),
  }
}

/** What `problem` says of an error, where only one sentence is told of it. */
export function advised(error: unknown): string {
  const { detail, remediation } = problem(error)
  return remediation === undefined ? detail : `${detail}; ${remediation}`
}

/** A foreign text inside a message: in backticks, control characters and backticks escaped, cut to 80 characters. */
export function quote(text: string): string {
  const shown = text.length > limits.quotedCharsMax ? `${text.slice(0, limits.quotedCharsMax - 1)}…` : text
  const escaped = shown.replace(/[\p{C}\p{Zl}\p{Zp}`\\]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
  return `\`${escaped}\``
}
