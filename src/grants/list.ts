import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { type Expiry, earlier, isExpiry } from './grant.ts'
import { faultOf, grantFailure } from './parse.ts'

/** A grant as trusted code asks for it, already parsed. */
export interface GrantRequest {
  readonly path: string
  readonly expiresAt: Expiry
}

/**
 * Absent is the empty list; one bad entry refuses all. Every value is read once, before anything is checked. Equal
 * paths become one entry, in the place of the first and with the earliest expiry. The result is deep-frozen.
 */
export function parseGrants(input: unknown): readonly GrantRequest[] {
  const merged = new Map<string, GrantRequest>()
  for (const [index, entry] of copyOf(input).entries()) {
    const { path, expiresAt } = requestOf(entry, index)
    const expiry = earlier(merged.get(path)?.expiresAt ?? null, expiresAt)
    merged.set(path, Object.freeze({ path, expiresAt: expiry }))
  }
  return Object.freeze([...merged.values()])
}

/** Each entry as it was when it was read. */
function copyOf(input: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (input === undefined) return []
  if (!Array.isArray(input)) throw new Failure('grant.list_invalid', 'context must be a list of grants')
  const length = Number(input.length)
  if (!(length <= limits.grantsMax)) {
    throw new Failure('grant.limit', `grant list exceeds ${limits.grantsMax} entries`, { reason: 'too_many' })
  }
  return Array.from({ length }, (_, index) => {
    const value: unknown = input[index]
    const isEntry = typeof value === 'object' && value !== null
    return Object.assign(Object.create(null), isEntry ? value : { path: value })
  })
}

function requestOf(entry: Readonly<Record<string, unknown>>, index: number): GrantRequest {
  const { path, expiresAt = null, ...others } = entry
  if (Object.keys(others).length > 0)
    throw entryFailure('unknown_member', index, 'an entry has `path` and `expiresAt` alone')
  const fault = faultOf(path)
  if (fault !== undefined) throw grantFailure(fault, path, { index })
  if (!isExpiry(expiresAt)) throw entryFailure('expiry', index, '`expiresAt` is null or a UTC time with three decimals')
  return { path: path as string, expiresAt }
}

const entryFailure = (reason: 'unknown_member' | 'expiry', index: number, help: string): Failure =>
  new Failure('grant.invalid', `grant is not valid: ${reason.replaceAll('_', ' ')}`, { reason, index }, help)
