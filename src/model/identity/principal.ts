import { z } from 'zod'
import { ownTime } from '../evidence.ts'
import { id, line } from '../text.ts'

export const principalKind = z.enum(['user', 'service', 'agent', 'automation'])

/** The name of something a capability may demand of who calls it, such as `stock:release`. */
export const permission = line

/** A permission that was withdrawn is remembered, so that a refusal can say so. */
export const principal = z.strictObject({
  principal_id: id,
  kind: principalKind,
  display: line.nullable(),
  roles: z.array(id),
  permissions: z.array(permission),
  revoked_permissions: z.array(permission),
  status: z.enum(['active', 'revoked']),
  created_at: ownTime,
})

export type Principal = z.infer<typeof principal>
