import { z } from 'zod'
import { ownTime } from './evidence.ts'
import { id, line } from './text.ts'

export const principalKind = z.enum(['user', 'service', 'agent', 'automation'])

/** A person, service or agent of a tenant, as stored. Roles are the directory's word, never the caller's. Closed. */
export const principal = z.strictObject({
  principal_id: id,
  kind: principalKind,
  display: line.nullable(),
  roles: z.array(id),
  status: z.enum(['active', 'revoked']),
  created_at: ownTime,
})

export type Principal = z.infer<typeof principal>
