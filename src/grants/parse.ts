import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'

/** What can be wrong with the text of a grant, in the order in which it is looked for; the first is reported. */
const textFaults = [
  ['empty', (text) => text === ''],
  // No text has fewer bytes than UTF-16 units, so one that is far too long is refused unread.
  ['too_long', (text) => text.length > limits.grantBytesMax || Buffer.byteLength(text) > limits.grantBytesMax],
  ['encoding', (text) => !text.isWellFormed()],
  ['normalization', (text) => text.normalize('NFC') !== text],
  ['whitespace', (text) => /[\p{White_Space}\u{feff}]/u.test(text)],
  ['control', (text) => /\p{Cc}/u.test(text)],
  ['invisible', (text) => /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(text)],
  ['slash', (text) => text.startsWith('/') || text.endsWith('/')],
  ['empty_segment', (text) => text.includes('//')],
  ['too_deep', (text) => text.split('/').length > limits.grantSegmentsMax],
  ['segment_too_long', (text) => text.split('/').some((one) => Buffer.byteLength(one) > limits.grantSegmentBytesMax)],
  ['traversal', (text) => text.split('/').some((one) => /^\.+$/.test(one))],
  ['wildcard', (text) => /[*?[\]{}]/.test(text)],
  ['reserved_character', (text) => /[\\%]/.test(text)],
] as const satisfies readonly (readonly [fault: string, isFound: (text: string) => boolean])[]

export type GrantFault = 'type' | (typeof textFaults)[number][0]

/** The grant path, unchanged; `grant.invalid` or `grant.limit` with `data.reason` if it is none. Nothing is repaired. */
export function parseGrant(input: unknown): string {
  const fault = faultOf(input)
  if (fault !== undefined) throw grantFailure(fault, input)
  return input as string
}

export function faultOf(input: unknown): GrantFault | undefined {
  if (typeof input !== 'string') return 'type'
  if (input.length <= limits.grantBytesMax && ordinary.test(input)) return undefined
  return textFaults.find(([, isFound]) => isFound(input))?.[0]
}

/** The refusal of a grant. A text past the limit is not quoted: to cut it would read all of it. */
export function grantFailure(fault: GrantFault, input: unknown, place: { readonly index?: number } = {}): Failure {
  const data = { reason: fault, ...place }
  const limit = exceeded[fault]
  if (limit !== undefined) return new Failure('grant.limit', `grant exceeds ${limit}`, data)
  const shown = typeof input === 'string' ? ` ${quote(input)}` : ''
  return new Failure('grant.invalid', `grant${shown} is not valid: ${fault.replaceAll('_', ' ')}`, data)
}

const exceeded: Readonly<Partial<Record<GrantFault, string>>> = {
  too_long: `${limits.grantBytesMax} bytes`,
  too_deep: `${limits.grantSegmentsMax} segments`,
  segment_too_long: `${limits.grantSegmentBytesMax} bytes in one segment`,
}

// Nearly all grants look like this, and this alone shows that they pass every check below.
const segment = `[\\w@:+-][\\w@:+.-]{0,${limits.grantSegmentBytesMax - 1}}`
const ordinary = new RegExp(`^${segment}(?:/${segment}){0,${limits.grantSegmentsMax - 1}}$`)
