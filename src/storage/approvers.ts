import type { Approver } from '../model/approval.ts'
import { recordsIn } from './records.ts'
import { approvers } from './schema.ts'

export const approverRecords = recordsIn<Approver>(approvers, 'approver', (record) => [record.approver_id])
