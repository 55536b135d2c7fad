import { z } from 'zod'
import { limits } from '../../base/limits.ts'
import { word } from '../text.ts'
import { wireId } from '../wire/correlation.ts'

/** Open: a host may add claims of its own. Business facts never go in here. */
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

/** Recorded beside the subject, which alone carries accountability. */
export const actor = z.strictObject({
  id: wireId,
  type: z.enum(['human', 'agent', 'service', 'workflow', 'device', 'organization']).optional(),
  owner: z.string().optional(),
  organization: z.string().optional(),
  trust_level: z.string().optional(),
  status: z.string().optional(),
  credentials_ref: z.string().optional(),
  authority_refs: z.array(z.string()).optional(),
})

/** The same as a caller may give it: every event of the call repeats it. */
export const givenActor = actor.extend({
  owner: word.optional(),
  organization: word.optional(),
  trust_level: word.optional(),
  status: word.optional(),
  credentials_ref: word.optional(),
  authority_refs: z.array(word).max(limits.authorityRefsMax).optional(),
})

export type Actor = z.infer<typeof actor>
