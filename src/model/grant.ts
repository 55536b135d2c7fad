import { z } from 'zod'
import { limits } from '../base/limits.ts'
import { ownTime } from './evidence.ts'
import { form, line, minted } from './text.ts'

const notOnlyDots = '(?!\\.+(?:/|$))'
const segment = `${notOnlyDots}[^\\s\\p{Cc}\\p{Cf}\\p{Cs}\\p{DI}*?[\\]{}\\\\%/]{1,${limits.grantSegmentBytesMax}}`
const segments = `${segment}(?:/${segment}){0,${limits.grantSegmentsMax - 1}}`

/** Lengths count characters here and bytes in the grants parser, which also demands the NFC form. */
export const grantPath = form(
  new RegExp(`^(?=[\\s\\S]{1,${limits.grantBytesMax}}$)${segments}$`, 'u'),
  'a grant path: segments joined by `/`, without white space, wildcards or empty segments',
).meta({ examples: ['acme', 'acme/eu/desk-7', 'acme/Kundenakte/é..é/𝒳'] })

const grantId = minted('gr')

/** `expires_at` null: as long as the run. `derived_from` names the parent's grants that cover it; empty on a root run. */
export const grant = z.strictObject({
  path: grantPath,
  id: grantId,
  expires_at: ownTime.nullable(),
  minted_by: line,
  basis: z.array(line),
  derived_from: z.array(grantId),
})

export type Grant = z.infer<typeof grant>

/** Ends the grant with this id, all grants of a run or of a subject, or all at or below a path. */
export const revocation = z.strictObject({ by: z.enum(['grant', 'run', 'subject', 'path']), target: line })

export type Revocation = z.infer<typeof revocation>
