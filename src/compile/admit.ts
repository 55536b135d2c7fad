import { objectHash } from '../base/hash.ts'
import { parseTime } from '../base/time.ts'
import type { EvidenceFact, Omission } from '../model/contract/compiled.ts'
import { type CompileFacts, type Consent, leftOut, type Source } from './facts.ts'

export interface Admitted<T> {
  readonly items: readonly T[]
  readonly omissions: readonly Omission[]
}

/** Evidence of this tenant, or of another under a consent; current, and with the hash of its value. */
export function admitEvidence(tenant: string, { evidence, consents, now }: CompileFacts): Admitted<EvidenceFact> {
  return divide(evidence, (fact) => {
    if (fact.tenant_id !== tenant && !isConsented(fact, tenant, consents, now))
      return evidenceLeftOut(fact, 'foreign_tenant')
    if (fact.expires_at !== undefined && isPast(fact.expires_at, now)) return evidenceLeftOut(fact, 'stale')
    return fact.hash === objectHash(fact.value) ? undefined : evidenceLeftOut(fact, 'hash_mismatch')
  })
}

/** Sources with the memory that this run may read: promoted, of its tenant, within its grants. */
export function admitMemory(tenant: string, { sources }: CompileFacts): Admitted<Source> {
  return divide(sources, (source) => {
    const { memory } = source
    if (memory === undefined) return undefined
    if (memory.tenant_id !== tenant) return leftOut(source, 'foreign_tenant')
    if (!memory.promoted) return leftOut(source, 'not_promoted')
    return memory.covered ? undefined : leftOut(source, 'outside_grants')
  })
}

function divide<T>(all: readonly T[], refuse: (each: T) => Omission | undefined): Admitted<T> {
  const omissions: Omission[] = []
  const items = all.filter((each) => {
    const omission = refuse(each)
    if (omission !== undefined) omissions.push(omission)
    return omission === undefined
  })
  return { items, omissions }
}

const isConsented = (fact: EvidenceFact, tenant: string, consents: readonly Consent[], now: string): boolean =>
  consents.some(
    ({ consent_ref, tenants, scope, expires_at }) =>
      consent_ref === fact.consent_ref &&
      tenants.includes(tenant) &&
      tenants.includes(fact.tenant_id) &&
      fact.evidence_ref.startsWith(scope) &&
      !isPast(expires_at, now),
  )

const isPast = (time: string, now: string): boolean => (parseTime(time) ?? 0) <= (parseTime(now) ?? 0)

const evidenceLeftOut = ({ evidence_ref }: EvidenceFact, reason: Omission['reason']): Omission =>
  leftOut({ block_id: evidence_ref, bucket: 'evidence', priority: 0, refs: [evidence_ref] }, reason)
