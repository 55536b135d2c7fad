import { randomBytes } from 'node:crypto'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { disarm } from '../../fence/disarm.ts'
import { fence } from '../../fence/fence.ts'
import type { Denial } from '../../model/wire/denial.ts'
import type { InvocationResult } from '../../model/wire/result.ts'

export interface ResultTextOptions {
  /** What a stream gave on its way: shown when it returned nothing. */
  readonly chunks?: readonly Json[] | undefined
  /** There were more of them than are kept. */
  readonly isCut?: boolean | undefined
  /** The secret of the fence, at least 128 random bits; one of this process unless given. */
  readonly seed?: Uint8Array | undefined
}

/** What came of a call, as every door tells a model: what capabilities said in a fence, and sentences of ours. */
export function resultText(result: InvocationResult, { chunks = [], isCut, seed }: ResultTextOptions = {}): string {
  const { outcome, capability_id: id, denial, error } = result
  if (denial != null) return refusalText(id, outcome, denial, approvalIdOf(result))
  const failed = error == null ? '' : fenceText(id, `${error.type}: ${error.message}`, seed)
  const code = error?.code == null ? '' : ` (${error.code})`
  switch (outcome) {
    case 'success':
      if (error != null) return `The call was executed.\n${failed}`
      if (isCut && result.data == null)
        return `The call of ${quote(id)} was executed; it answered more than can be shown.`
      return answerText(id, answerOf(result.data, chunks), seed)
    case 'indeterminate':
      if (error?.effect === 'done' || error?.effect === 'none') break
      return lines(`It is unknown whether the call of ${quote(id)} had its effect${code}.`, failed, unknownNext)
    default:
      if (error?.effect === 'unknown') return lines(`The call of ${quote(id)} failed${code}.`, failed, unknownNext)
  }
  const known = error?.effect === 'done' ? 'its effect happened' : 'nothing was changed'
  const until = error?.['approved_until']
  const next = `Next: the approval still holds until ${until}: make the same call again with the same arguments.`
  return lines(`The call of ${quote(id)} failed${code}; ${known}.`, failed, typeof until === 'string' ? next : '')
}

const unknownNext = 'Next: find out what it changed before you try anything like it again; do not simply repeat it.'

/** The request that people decide about before the call goes on. None for a call that could not run. */
export function approvalIdOf({ denial }: Pick<InvocationResult, 'denial'>): string | undefined {
  const { approval_id, preview } = denial?.details ?? {}
  return denial?.code === 'approval_required' && typeof approval_id === 'string' && preview === undefined
    ? approval_id
    : undefined
}

/** What a model is told of a call that could not even be read, or is still running. Anything else is thrown on. */
export function failureText(id: string, error: unknown): string {
  if (!(error instanceof Failure)) throw error
  return lines(
    plain(
      `Not done: the call of ${quote(id)} was not accepted (${error.code.replaceAll('.', '_')}): ${error.message}.`,
    ),
    error.help === undefined ? '' : plain(`Next: ${error.help}.`),
  )
}

/** Text that is not ours, in the one fence. */
export const fenceText = (name: string, text: string, seed: Uint8Array = ofThisProcess): string =>
  fence({ element: 'ambit_data', origin: 'tool', name, text, seed }).text

const ofThisProcess = randomBytes(32)

const answerText = (id: string, answer: string | undefined, seed: Uint8Array | undefined): string =>
  answer === undefined ? `The call of ${quote(id)} was executed; it answered nothing.` : fenceText(id, answer, seed)

function answerOf(data: unknown, chunks: readonly Json[]): string | undefined {
  if (typeof data === 'string') return data
  if (data != null) return JSON.stringify(data)
  if (chunks.length === 0) return undefined
  return chunks.every((chunk) => typeof chunk === 'string') ? chunks.join('') : JSON.stringify(chunks)
}

function refusalText(
  id: string,
  outcome: InvocationResult['outcome'],
  { code, message, details = {} }: Denial,
  approvalId: string | undefined,
): string {
  const text = (name: string): string => (details[name] == null ? '' : [details[name]].flat().map(String).join(', '))
  const told = (word: string, ...names: readonly string[]): string => {
    const said = names.map(text).filter((part) => part !== '')
    return said.length === 0 ? '' : `${word}: ${said.join(' ')}.`
  }
  const executed = details['effect'] === 'done'
  const word = executed ? 'Executed, and its result is withheld' : outcome === 'skipped' ? 'Skipped' : 'Denied'
  return plain(
    lines(
      approvalId === undefined
        ? `${word}: the call of ${quote(id)} was refused with \`${code}\`: ${message}.`
        : `Waiting for approval: the call of ${quote(id)} is not done yet (\`${code}\`): ${message}.`,
      executed ? 'Its effect happened: do not repeat it.' : 'Nothing was changed.',
      told('Reason', 'reason'),
      // Where in a result it is wrong is said in words of the result, and where in a payload by the message.
      executed ? told('At', 'keyword') : '',
      told('Missing', 'missing'),
      told('Seconds to wait', 'retry_after_s'),
      approvalId === undefined ? '' : approvalText(approvalId, text('expires_at')),
      nextText(text('required_next_action')),
    ),
  )
}

const approvalText = (approval: string, until: string): string =>
  `A person has to agree: approval \`${approval}\`, open until ${until}. They look at it with \`ambit approvals show ${approval}\` and decide with \`ambit approvals approve ${approval}\` or \`ambit approvals deny ${approval}\`.`

/** A model has no say in ids: to repeat a call is to call with the same arguments. */
const nextText = (said: string): string =>
  said === ''
    ? ''
    : `Next: ${said.replace('repeat this invocation_id', 'make the same call again with the same arguments').replace(/,? with a new `?invocation_id`?/, '')}.`

/** Our own sentences repeat names of others: nothing in them may look like an element of a fence. */
export const plain = (text: string): string => disarm(text).text

const lines = (...parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n')
