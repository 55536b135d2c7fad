import { z } from 'zod'
import { limits } from '../base/limits.ts'

/**
 * Text of one form; `expected` completes the sentence "must be …". Patterns carry the `u` flag, because that is how
 * JSON Schema reads them: without it a quantifier counts UTF-16 units here and code points there.
 */
export const form = (pattern: RegExp, expected: string): z.ZodString => z.string().regex(pattern, `must be ${expected}`)

/** A sentence or two for people. */
export const prose = z.string().max(4_000)

/** A short word whose meaning is judged later, by the gate that reads it. */
export const word = z.string().max(256)

/** A name or title: one line. */
export const line = form(/^\P{Cc}{1,256}$/u, '1 to 256 characters without control characters')

/** An id of ours, or of someone we know. */
export const id = form(
  new RegExp(`^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,${limits.idCharsMax - 1}}$`, 'u'),
  `an id: at most ${limits.idCharsMax} letters, digits and . _ : @ / + - with a letter or digit first`,
)

export const duration = form(/^[1-9][0-9]{0,5}[smhd]$/u, 'a number and s, m, h or d, such as `90d`')

/** An id we minted: what it names, then lower-case letters and digits. */
export const minted = (prefix: string): z.ZodString =>
  form(new RegExp(`^${prefix}_[0-9a-z]{1,64}$`, 'u'), `\`${prefix}_\` with lower-case letters and digits after it`)

export const capabilityId = form(/^[A-Za-z0-9_.:-]{1,256}$/u, 'a capability id: 1 to 256 letters, digits and _ . : -')

/** An exact capability id, or all that begin with what stands before a final `*`. */
export const capabilityScope = form(
  /^[A-Za-z0-9_.:-]{0,255}[A-Za-z0-9_.:*-]$/u,
  'a capability id, or the beginning of one and a `*`',
)

/** True if a scope names this id, or covers this narrower scope. */
export const inScope = (scope: string, id: string): boolean =>
  scope.endsWith('*') ? id.startsWith(scope.slice(0, -1)) : id === scope

/** True if one of the scopes does. */
export const inScopes = (scopes: readonly string[], id: string): boolean => scopes.some((scope) => inScope(scope, id))

export const semver = form(
  /^(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/u,
  'a version such as `1.2.3`',
)
