import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'

/** What can be wrong with a grant, in the order in which it is looked for; the first that fits is reported. */
export type GrantFault =
  | 'type'
  | 'empty'
  | 'too_long'
  | 'encoding'
  | 'normalization'
  | 'whitespace'
  | 'control'
  | 'invisible'
  | 'slash'
  | 'empty_segment'
  | 'too_deep'
  | 'segment_too_long'
  | 'traversal'
  | 'wildcard'
  | 'reserved_character'

/** The grant path, unchanged; `grant.invalid` or `grant.limit` with `data.reason` if it is none. Nothing is repaired. */
export function parseGrant(input: unknown): string {
  const fault = faultOf(input)
  if (fault !== undefined) throw grantFailure(fault, input)
  return input as string
}

export function faultOf(input: unknown): GrantFault | undefined {
  if (typeof input !== 'string') return 'type'
  return input.length <= limits.grantBytesMax && ordinary.test(input) ? undefined : textFaultOf(input)
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

function textFaultOf(text: string): GrantFault | undefined {
  if (text === '') return 'empty'
  // No text has fewer bytes than UTF-16 units, so one that is far too long is refused unread.
  if (text.length > limits.grantBytesMax || Buffer.byteLength(text) > limits.grantBytesMax) return 'too_long'
  if (!text.isWellFormed()) return 'encoding'
  if (text.normalize('NFC') !== text) return 'normalization'
  if (/[\p{White_Space}\u{feff}]/u.test(text)) return 'whitespace'
  if (/\p{Cc}/u.test(text)) return 'control'
  if (/[\p{Cf}\p{Default_Ignorable_Code_Point}]/u.test(text)) return 'invisible'
  if (text.startsWith('/') || text.endsWith('/')) return 'slash'
  return segmentFaultOf(text.split('/')) ?? characterFaultOf(text)
}

function segmentFaultOf(segments: readonly string[]): GrantFault | undefined {
  if (segments.includes('')) return 'empty_segment'
  if (segments.length > limits.grantSegmentsMax) return 'too_deep'
  if (segments.some((one) => Buffer.byteLength(one) > limits.grantSegmentBytesMax)) return 'segment_too_long'
  return segments.some((one) => /^\.+$/.test(one)) ? 'traversal' : undefined
}

function characterFaultOf(text: string): GrantFault | undefined {
  if (/[*?[\]{}]/.test(text)) return 'wildcard'
  return /[\\%]/.test(text) ? 'reserved_character' : undefined
}
