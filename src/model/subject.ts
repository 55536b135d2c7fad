import { z } from 'zod'
import { wireId } from './correlation.ts'

/**
 * Who authenticated, bound by the host. Open: a host may add claims of its own, and readers keep what they do not know.
 * Business facts never go in here.
 */
export const subject = z.looseObject({
  id: wireId,
  type: z.string().optional(),
  verified: z.boolean().optional(),
  tenant: z.string().optional(),
  roles: z.array(z.string()).optional(),
  run_id: z.string().optional(),
  mandate_id: z.string().optional(),
  principal: z.string().optional(),
  root_principal: z.string().optional(),
})

export type Subject = z.infer<typeof subject>

const actorType = z.enum(['human', 'agent', 'service', 'workflow', 'device', 'organization'])

/** Who the caller says is acting. Closed; recorded beside the subject, which alone carries accountability. */
export const actor = z.strictObject({
  id: wireId,
  type: actorType.optional(),
  owner: z.string().optional(),
  organization: z.string().optional(),
  trust_level: z.string().optional(),
  status: z.string().optional(),
  credentials_ref: z.string().optional(),
  authority_refs: z.array(z.string()).optional(),
})

export type Actor = z.infer<typeof actor>
