import { sha256 } from '../../base/hash.ts'
import { limits } from '../../base/limits.ts'
import { version } from '../../base/version.ts'
import type { Activation } from '../../knowledge/activate.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import type { Routing } from '../../knowledge/route/route.ts'
import type { Choice } from '../../knowledge/select/selection.ts'
import type { Wrapped, WrappedPack } from '../../knowledge/select/wrap.ts'
import type { ResolutionTrace } from '../../model/knowledge/trace.ts'
import type { Scan } from './scan.ts'

export interface TraceFacts {
  readonly runId: string
  readonly at: string
  readonly query: string
  readonly activation: Activation<Routing>
  readonly choice: Choice
  readonly wrapped: Wrapped
  readonly diagnostics: readonly Diagnostic[]
  readonly scan: Scan
  readonly timings: Readonly<Record<string, number>>
  readonly catalogHash: string
  /** Whether the selection itself went wrong. */
  readonly failed: boolean
}

export function traceOf(facts: TraceFacts): ResolutionTrace {
  const { activation, choice, wrapped, scan } = facts
  const { decision } = activation
  return {
    run_id: facts.runId,
    at: facts.at,
    query: facts.query,
    query_digest: sha256(facts.query),
    outcome: outcomeOf(facts),
    resolver: { tool: 'ambit', version, ...(decision !== undefined && { calibration: decision.calibration }) },
    catalog_hash: facts.catalogHash,
    roots: scan.roots.map(({ id, scope, packs, cut }) => ({ id, scope, packs, cut: cut.length > 0 })),
    activated: wrapped.packs.map(activatedPack),
    refused: activation.refused.map(({ named, diagnostics }) => ({ named, findings: [...diagnostics] })),
    considered: (decision?.considered ?? [])
      .slice(0, limits.knowledgeTracedMax)
      .map(({ id, score, confidence }) => ({ id, score, confidence })),
    ...(decision !== undefined && { threshold: decision.threshold, short_by: decision.shortBy }),
    dropped: choice.dropped
      .slice(0, limits.knowledgeTracedMax)
      .map(({ pack, path, section, why }) => ({ pack, path, section, reason: why })),
    missing: choice.missing.map(({ fact }) => fact),
    findings: [...facts.diagnostics],
    token_estimate: wrapped.tokens,
    timings_ms: { ...facts.timings },
  }
}

function outcomeOf({ activation, wrapped, failed }: TraceFacts): ResolutionTrace['outcome'] {
  if (wrapped.packs.length === 0) return activation.refused.length > 0 ? 'refused' : failed ? 'failed' : 'nothing'
  return wrapped.packs.every(({ pack }) => pack.header.status === 'stale') ? 'only-stale' : 'answered'
}

function activatedPack({ pack, activation, tokens, sections }: WrappedPack): ResolutionTrace['activated'][number] {
  return {
    id: pack.id,
    name: pack.header.name,
    activation,
    status: pack.header.status,
    trust: pack.trust,
    ...(pack.header.version !== undefined && { version: pack.header.version }),
    digest: pack.digest,
    tokens,
    sections: sections.map(({ path, section, digest, tier, score, matched }) => ({
      path,
      section: section.id,
      digest,
      tokens: section.tokens,
      tier: `${tier}`,
      score,
      matched: [...matched],
    })),
  }
}
