import type { ApprovalRequest } from '../../model/approval.ts'
import type { DecisionRecord } from '../../model/contract/decision.ts'
import { type RunExport, receivedExport } from '../../model/contract/run-export.ts'
import type { ForeignBundle, ForeignEvent } from '../../model/evidence.ts'
import { problemsOf } from '../../model/parse.ts'
import { recordHash } from '../record-hash.ts'
import { type Check, Findings } from './findings.ts'
import { type BundleReport, type VerifyOptions, verifyBundle } from './verify.ts'

/** What is looked at in the export of a run, in this order, and what it means that it passed. */
const meanings = {
  shape: 'the export is well formed',
  bundles: 'every bundle verifies by itself',
  run: 'bundles and records are of one run',
  hashes: 'every record hash is that of its record',
  chain: 'every version of a record follows the one before',
  evidence: 'every version is written in evidence, and every one that is written there is here',
  approvals: 'every approval is in evidence for the call it is for, and is here if it was asked for',
} as const

type CheckName = keyof typeof meanings

export interface RunExportReport {
  readonly valid: boolean
  readonly run_id: string | null
  /** That of the newest version of the record. */
  readonly status: string | null
  readonly records: number
  readonly approvals: number
  readonly checks: readonly Check<CheckName>[]
  readonly first: { readonly check: CheckName; readonly at: string; readonly message: string } | null
  readonly bundles: readonly BundleReport[]
}

type Found = Findings<CheckName>
type Received = Omit<RunExport, 'bundles'> & { readonly bundles: readonly ForeignBundle[] }

/** True for what claims to be the export of a run, and is no plain bundle. */
export const isRunExport = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && Object.hasOwn(input, 'bundles') && Object.hasOwn(input, 'records')

/** Verifies the export of a run, offline: its bundles, and that they commit to its records and approvals. Total, as for a bundle. */
export function verifyRunExport(input: unknown, options: VerifyOptions = {}): RunExportReport {
  const findings = new Findings(meanings)
  try {
    const [problem] = problemsOf(receivedExport, input)
    if (problem !== undefined) {
      findings.fail('shape', problem.pointer, problem.message)
      return reportOn(findings)
    }
    return checkAll(input as Received, options, findings)
  } catch {
    findings.fail('shape', '', 'cannot be read')
    return reportOn(findings)
  }
}

function checkAll(given: Received, options: VerifyOptions, findings: Found): RunExportReport {
  findings.pass('shape', 'bundles', 'run', 'hashes', 'chain', 'evidence', 'approvals')
  const events = given.bundles.flatMap((bundle) => bundle.events)
  const bundles = given.bundles.map((bundle, index) => {
    const report = verifyBundle(bundle, options)
    if (report.first !== null) findings.fail('bundles', `/bundles/${index}${report.first.at}`, report.first.message)
    return report
  })
  checkRun(given, bundles, findings)
  for (const index of given.records.keys()) checkVersion(given.records, index, findings)
  checkWritten(given.records, events, findings)
  checkApprovals(given, events, findings)
  return reportOn(findings, given, bundles)
}

function reportOn(findings: Found, given?: Received, bundles: readonly BundleReport[] = []): RunExportReport {
  const { records = [], approvals = [] } = given ?? {}
  const newest = records.at(-1)
  const { sound: valid, first } = findings
  return {
    ...{ valid, run_id: newest?.ambit.run_id ?? null, status: newest?.status ?? null },
    ...{ records: records.length, approvals: approvals.length, checks: findings.checks() },
    first: first ? { check: first.check, at: first.at, message: first.message } : null,
    bundles,
  }
}

function checkRun({ records }: Received, bundles: readonly BundleReport[], findings: Found): void {
  const runs = new Set(bundles.map(({ correlation_id }) => correlation_id))
  if (runs.size > 1) findings.fail('run', '/bundles', 'the bundles are of several runs')
  for (const [index, { record_id, ambit }] of records.entries())
    if (!runs.has(ambit.run_id) || record_id !== ambit.run_id.replace(/^run_/, 'dr_'))
      findings.fail('run', `/records/${index}/ambit/run_id`, 'the record is of another run than the bundle')
}

function checkVersion(records: readonly DecisionRecord[], index: number, findings: Found): void {
  const [before, record] = [records[index - 1], records[index] as DecisionRecord]
  if (hashOf(record) !== record.record_hash)
    findings.fail('hashes', `/records/${index}/record_hash`, 'the hash is not that of the record')
  if (record.previous_hash !== (before?.record_hash ?? null) || record.ambit.seq !== index)
    findings.fail('chain', `/records/${index}/previous_hash`, 'the version does not follow the one before')
}

/** Undefined for a record with a number that no hash takes. */
function hashOf(record: DecisionRecord): string | undefined {
  try {
    return recordHash(record)
  } catch {
    return undefined
  }
}

/** Each version has its event, and each event its version: none can be changed, left out or put in. */
function checkWritten(records: readonly DecisionRecord[], events: readonly ForeignEvent[], findings: Found): void {
  const written = events.filter(({ event_type }) => event_type === 'ambit.record.written')
  const isOf = ({ payload, invocation_id }: ForeignEvent, { record_id, record_hash, status, ambit }: DecisionRecord) =>
    payload['record_hash'] === record_hash &&
    payload['record_id'] === record_id &&
    payload['seq'] === ambit.seq &&
    payload['status'] === status &&
    invocation_id === ambit.run_id
  for (const [index, record] of records.entries())
    if (!written.some((event) => isOf(event, record)))
      findings.fail('evidence', `/records/${index}/record_hash`, 'no event has written this version')
  for (const event of written)
    if (!records.some((record) => isOf(event, record)))
      findings.fail('evidence', '/records', `version ${String(event.payload['seq'])} is in evidence and not here`)
}

/** What the call record of a call says of the approval that it was made with. */
interface UsedApproval {
  readonly approval_id: string
  readonly digest: string
  readonly approvers: readonly { readonly name: string }[]
}

function checkApprovals({ records, approvals }: Received, events: readonly ForeignEvent[], findings: Found): void {
  const requests = events.filter(({ event_type }) => event_type === 'approval_requested')
  const asked = new Set(requests.map(({ payload }) => payload['approval_id']))
  const used = events.flatMap(({ payload }) => {
    const { approval } = (payload['decision'] ?? {}) as { readonly approval?: UsedApproval | null }
    return approval ?? []
  })
  for (const [index, request] of approvals.entries()) {
    const fault = asked.has(request.approval_id) ? faultOf(request, used) : 'evidence has no such request'
    if (fault !== undefined) findings.fail('approvals', `/approvals/${index}`, fault)
  }
  const here = new Set<unknown>(approvals.map(({ approval_id }) => approval_id))
  for (const id of asked) if (!here.has(id)) findings.fail('approvals', '/approvals', `${String(id)} is missing`)
  const votes = new Set(approvals.flatMap((each) => each.votes.map((vote) => `${vote.decided_at} ${vote.approver}`)))
  for (const [index, record] of records.entries())
    if (record.approvals.some(({ approver, decided_at }) => !votes.has(`${decided_at} ${approver}`)))
      findings.fail('approvals', `/records/${index}/approvals`, 'nobody has voted so')
}

/** Evidence says for which call an approval was used, and with whose yes. */
function faultOf(
  { approval_id, redeemed_at, invocation_digest, votes }: ApprovalRequest,
  all: readonly UsedApproval[],
): string | undefined {
  const used = all.filter((each) => each.approval_id === approval_id)
  if ((redeemed_at !== null) !== used.length > 0) return 'evidence says otherwise whether it was used'
  const agreed = votes.filter(({ decision }) => decision === 'approve').map(({ approver }) => approver)
  const isSame = ({ digest, approvers }: UsedApproval) =>
    digest === invocation_digest && approvers.every(({ name }) => agreed.includes(name))
  return used.every(isSame) ? undefined : 'it is not the one that the call was made with'
}
