import { z } from 'zod'
import { approvalRequest } from '../approval.ts'
import { evidenceBundle, foreignBundle } from '../evidence.ts'
import { decisionRecord } from './decision.ts'

/** What a run leaves behind, in one file: its calls and its decision, with the people who agreed. */
export const runExport = z.strictObject({
  bundles: z.array(evidenceBundle).min(1),
  records: z.array(decisionRecord).min(1).describe('Every version, the first one first.'),
  approvals: z.array(approvalRequest),
})
export type RunExport = z.infer<typeof runExport>

/** The same as it is read: its bundles may be of any host. */
export const receivedExport = runExport.extend({ bundles: z.array(foreignBundle).min(1) })
