import { z } from 'zod'
import { limits } from '../../base/limits.ts'
import { ownTime } from '../evidence.ts'
import { grantPath } from '../grant.ts'
import { form, id, line } from '../text.ts'
import { tenantIdPattern } from './tenant-id.ts'

export const tenantIdText = form(
  tenantIdPattern,
  '1 to 63 lower-case letters, digits, hyphens and underscores, a letter or digit first',
)

/** A tenant without roots can hold no grants. */
export const tenant = z.strictObject({
  tenant_id: tenantIdText,
  host_id: id,
  name: line,
  roots: z.array(grantPath).max(limits.grantsMax),
  status: z.enum(['active', 'suspended']),
  created_at: ownTime,
})

export type Tenant = z.infer<typeof tenant>
